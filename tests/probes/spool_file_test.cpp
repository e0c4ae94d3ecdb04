// The spool as the injected tracer appends it.
#include "inject/spool_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "catch.hpp"
#include "inject/ranges.hpp"
#include "spool_folder.hpp"

using namespace nsa;
using inject::SpoolFile;
using test::bytes_of;
using Folder = test::SpoolFolder;

namespace {

spool::SpoolHeader header(std::uint32_t process) {
  spool::SpoolHeader h;
  h.process = process;
  return h;
}

std::int64_t count(const std::string& bytes, spool::Kind kind) {
  spool::SpoolCursor cursor(bytes, "test");
  std::int64_t found = 0;
  while (cursor.next()) found += cursor.kind() == kind;
  CHECK(cursor.torn_bytes() == 0);
  return found;
}

}  // namespace

TEST_CASE("records that are appended by several threads are all read back", "[probes]") {
  const Folder folder;
  SpoolFile file;
  REQUIRE(file.open(folder.path(), header(77)));
  constexpr int kThreads = 4, kEach = 20'000;  // more than one write
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        spool::SpoolKernel k;
        k.name = file.text("kernel " + std::to_string(t));
        file.append(k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  file.flush();
  const std::string bytes = bytes_of(file.path());
  CHECK(count(bytes, spool::Kind::kernel) == kThreads * kEach);
  CHECK(count(bytes, spool::Kind::text) == kThreads);
  CHECK(file.lost() == 0);
}

TEST_CASE("a name that is taken gets a number, a folder that is not there a reason", "[probes]") {
  const Folder folder;
  SpoolFile first, second, third;
  REQUIRE(first.open(folder.path(), header(5)));
  REQUIRE(second.open(folder.path(), header(5)));
  CHECK(first.path() != second.path());
  CHECK(second.path().ends_with(".5.1.nsaspool"));
  CHECK_FALSE(third.open(folder.path() + "/no/such", header(5)));
  CHECK(third.reason().find("No such file") != std::string::npos);
}

TEST_CASE("a program that closes all descriptors keeps its own files, and its records",
          "[probes]") {
  const Folder folder;
  const std::string mine = folder.path() + "/mine.txt";
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    SpoolFile file;
    if (!file.open(folder.path(), header(1))) _exit(1);
    const int high = dup(0);
    for (int number = 3; number < 8192; ++number) close(number);
    for (int number = high; number < 4096; ++number) {  // takes the spool's number too
      const int own = open(mine.c_str(), O_WRONLY | O_CREAT, 0600);
      if (own < 0) _exit(2);
    }
    file.note(spool::NoteWhat::information, "behind it");
    file.flush();
    _exit(file.lost() == 0 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(std::filesystem::file_size(mine) == 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!entry.path().string().ends_with(".nsaspool")) continue;
    CHECK(count(bytes_of(entry.path().string()), spool::Kind::note) == 1);
    CHECK((entry.status().permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }
}

TEST_CASE("where the spool is gone recording ends, and the program's file is left alone",
          "[probes]") {
  const Folder folder;
  SpoolFile file;
  REQUIRE(file.open(folder.path(), header(1)));
  std::filesystem::remove(file.path());
  std::ofstream(file.path()) << "another one";
  struct stat status {};
  for (int number = 3; number < 8192; ++number) {  // the spool's descriptor
    if (fstat(number, &status) != 0 || status.st_nlink != 0 || !S_ISREG(status.st_mode)) continue;
    const int other = open("/dev/null", O_WRONLY);
    dup2(other, number);
    close(other);
  }
  file.note(spool::NoteWhat::information, "nowhere");
  file.flush();
  CHECK(file.lost() == 1);
  CHECK(file.reason().find("gone") != std::string::npos);
  CHECK(bytes_of(file.path()) == "another one");
}

TEST_CASE("what was flushed is there after a kill", "[probes]") {
  const Folder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    SpoolFile file;
    if (!file.open(folder.path(), header(1))) _exit(1);
    file.note(spool::NoteWhat::information, "flushed");
    file.flush();
    file.note(spool::NoteWhat::information, "not flushed");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  const auto first = *std::filesystem::directory_iterator(folder.path());
  CHECK(count(bytes_of(first.path().string()), spool::Kind::note) == 1);
}

TEST_CASE("a device is known by its number once it was appended", "[probes]") {
  const Folder folder;
  SpoolFile file;
  REQUIRE(file.open(folder.path(), header(2)));
  spool::SpoolDevice device;
  device.id = 3;
  device.uuid = file.text("GPU-abc");
  file.append(device);
  CHECK(file.devices().at(3) == "GPU-abc");
  CHECK(file.text_of(device.uuid) == "GPU-abc");
  CHECK(file.text_of(0).empty());
  CHECK(file.text_of(99).empty());
}

TEST_CASE("open ranges are those of each thread, in their order", "[probes]") {
  CHECK(inject::pop_range(nullptr).empty());
  inject::push_range(nullptr, "step 1");
  inject::push_range(nullptr, "score");
  CHECK(inject::innermost_range() == "score");
  CHECK(inject::open_ranges().find(": step 1 > score\n") != std::string::npos);
  std::thread([] {
    inject::push_range(nullptr, "loader");
    CHECK(inject::open_ranges().find(": loader\n") != std::string::npos);
  }).join();
  CHECK(inject::open_ranges().find("loader") == std::string::npos);
  CHECK(inject::pop_range(nullptr) == "score");
  CHECK(inject::pop_range(nullptr) == "step 1");
  CHECK(inject::open_ranges().empty());
  CHECK(inject::innermost_range().empty());
}
