// The injected library itself, where there is no device to trace: it says so in its spool, and the
// program ends as it would without it.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/trace/read.hpp"
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
int run(const std::string& folder, const std::string& end, const std::string& environment = "") {
  const std::string command = environment + " NSATUNE_TRACE_DIR='" + folder +
                              "' NVTX_INJECTION64_PATH=" NSA_INJECTED_LIBRARY " " NSA_LOAD_LIBRARY
                              " " NSA_INJECTED_LIBRARY " " +
                              end;
  return WEXITSTATUS(std::system(command.c_str()));
}

/// The same where another tool holds CUPTI, on a GPU that is made up.
trace::Trace run_held(const Folder& folder, const std::string& window,
                      const std::string& end = "nvtx") {
  CHECK(run(folder.path(), end, "LD_LIBRARY_PATH=" NSA_MADE_UP " " + window) == 5);
  REQUIRE(folder.files().size() == 1);
  return trace::read_trace(folder.files().front().string());
}

std::map<std::string, int> count_names(const trace::Trace& trace) {
  std::map<std::string, int> counts;
  for (const trace::GpuRange& range : trace.gpu_ranges) ++counts[trace.names.text(range.name)];
  return counts;
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

TEST_CASE("where another tool holds CUPTI it is named, and ranges are timed by events",
          "[probes]") {
  const Folder folder;
  const trace::Trace trace = run_held(folder, "");
  const auto counts = count_names(trace);
  CHECK(counts.size() == 6);  // five steps, and what is in each
  CHECK(counts.at("step 3") == 1);
  CHECK(counts.at("a registered name") == 5);
  CHECK(trace.ops.empty());
  CHECK(trace.ranges.size() == 10);
  const trace::ProcessInfo& process = trace.processes.at(0);
  CHECK(process.totals->complete);
  CHECK_FALSE(process.totals->launches);
  CHECK(process.metadata.at("subscriber_in_the_way") == "another tool");
  CHECK(process.metadata.at("window") == "all");
  REQUIRE(process.notes.size() == 2);
  CHECK(process.notes[0].what == "degraded");
  CHECK(process.notes[0].text.starts_with("another tool holds CUPTI"));
  REQUIRE(trace.instants.size() == 2);  // the window begins and ends
  for (const trace::GpuRange& range : trace.gpu_ranges) CHECK(range.end_ns >= range.start_ns);
}

TEST_CASE("what NCCL says of its messages is in the recording, and its ranges end", "[probes]") {
  const Folder folder;
  const trace::Trace trace = run_held(folder, "", "nccl");
  REQUIRE(trace.ranges.size() == 3);
  for (const trace::HostRange& range : trace.ranges) {
    CHECK_FALSE(range.open);
    const bool sends = trace.names.text(range.name) == "ncclAllReduce";
    const std::string& said = trace.names.text(range.arguments);
    CHECK(said == (sends ? R"("Message size [bytes]":4096,"NCCL communicator ID":)"
                           R"("0000000000c0ffee","Group size":2)"
                         : ""));
  }
}

TEST_CASE("a range inside of a step is no step of its own, whatever its name", "[probes]") {
  const Folder folder;
  const auto counts = count_names(run_held(
      folder, "NSATUNE_TRACE_WINDOW=steps NSATUNE_TRACE_SKIP=1 NSATUNE_TRACE_COUNT=2", "nested"));
  CHECK(counts == std::map<std::string, int>{{"train_step", 2}, {"batch", 6}});
}

TEST_CASE("ranges by events keep to the window, where it can be followed", "[probes]") {
  const Folder steps, calls;
  const auto of_steps = count_names(
      run_held(steps, "NSATUNE_TRACE_WINDOW=steps NSATUNE_TRACE_SKIP=1 NSATUNE_TRACE_COUNT=2"));
  CHECK(of_steps ==
        std::map<std::string, int>{{"step 1", 1}, {"step 2", 1}, {"a registered name", 2}});
  const trace::Trace all = run_held(calls, "NSATUNE_TRACE_WINDOW=calls NSATUNE_TRACE_COUNT=2");
  CHECK(count_names(all).size() == 6);
  CHECK(all.processes.at(0).metadata.at("window") == "all");
  CHECK(all.processes.at(0).notes.size() == 3);  // also that calls are not seen
}
