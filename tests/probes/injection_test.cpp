// The injected library itself, where there is no device to trace: it says so in its spool, and the
// program ends as it would without it.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "nsa/probes/probes.hpp"
#include "spool_folder.hpp"

using namespace nsa;
using Folder = test::SpoolFolder;

namespace {

struct Read {
  std::map<spool::Kind, int> kinds;
  bool final = false;
  std::string notes;
};

Read read_spool(const std::filesystem::path& path) {
  const std::string bytes = test::bytes_of(path);
  spool::SpoolCursor cursor(bytes, path.string());
  Read read;
  std::map<std::uint32_t, std::string> texts;
  while (cursor.next()) {
    ++read.kinds[cursor.kind()];
    if (cursor.kind() == spool::Kind::text) {
      const auto text = cursor.get<spool::SpoolText>();
      texts[text.id] = cursor.text(text);
    }
    if (cursor.kind() == spool::Kind::note)
      read.notes += texts.at(cursor.get<spool::SpoolNote>().text) + "\n";
    if (cursor.kind() == spool::Kind::totals)
      read.final = (cursor.record().flags & spool::kSpoolFinal) != 0;
  }
  CHECK(cursor.torn_bytes() == 0);
  return read;
}

/// Exit code of the program with the library in it; its spools are left in `folder`.
int run(const std::string& folder, const std::string& end) {
  const std::string command = "NSATUNE_TRACE_DIR='" + folder +
                              "' NVTX_INJECTION64_PATH=" NSA_INJECTED_LIBRARY " " NSA_LOAD_LIBRARY
                              " " NSA_INJECTED_LIBRARY " " +
                              end;
  return WEXITSTATUS(std::system(command.c_str()));
}

}  // namespace

TEST_CASE("the injected library ends a spool with its program and keeps the exit code",
          "[probes]") {
  const Folder folder;
  CHECK(run(folder.path(), "return") == 5);
  REQUIRE(folder.files().size() == 1);
  const Read read = read_spool(folder.files().front());
  CHECK(read.final);
  CHECK(read.kinds.at(spool::Kind::metadata) >= 8);
  CHECK(read.kinds.at(spool::Kind::anchor) >= 1);
  if (probes::devices().size() == 1) CHECK_FALSE(read.notes.empty());  // why nothing is recorded
}

TEST_CASE("a program that leaves by _exit has a spool without its final totals", "[probes]") {
  const Folder folder;
  CHECK(run(folder.path(), "_exit") == 7);
  REQUIRE(folder.files().size() == 1);
  const Read read = read_spool(folder.files().front());
  CHECK_FALSE(read.final);
  CHECK(read.kinds.at(spool::Kind::totals) >= 1);
}

TEST_CASE("a child that was forked writes nothing", "[probes]") {
  const Folder folder;
  CHECK(run(folder.path(), "fork") == 5);
  REQUIRE(folder.files().size() == 1);
  CHECK(read_spool(folder.files().front()).final);
}

TEST_CASE("ranges of NVTX do no harm to a program that has the library in it", "[probes]") {
  const Folder folder;
  CHECK(run(folder.path(), "nvtx") == 5);
  REQUIRE(folder.files().size() == 1);
  CHECK(read_spool(folder.files().front()).final);
}

TEST_CASE("a folder that is not there is said, and the program goes on", "[probes]") {
  CHECK(run("/no/such/folder", "return") == 5);
}
