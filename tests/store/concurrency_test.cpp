#include <unistd.h>

#include <vector>

#include "catch.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::OpenOptions;
using nsa::store::Store;

namespace {

/// `processes` that wait for one another, open one new database at once and write `rows` each.
/// Returns how many failed.
int write_together(const std::string& path, int processes, int rows, const OpenOptions& options) {
  int gate[2];
  REQUIRE(pipe(gate) == 0);
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(test::fork_child([&] {
      close(gate[1]);
      char byte = 0;
      if (read(gate[0], &byte, 1) != 0) return 1;  // ends when the parent closes its side
      Store store = Store::open(path, options);
      store::RunRequest request = test::some_request();
      request.always_new = true;  // a quick sibling may be done already, and its run free
      const auto run = store.open_run(request);
      for (int i = 0; i < rows; ++i) {
        if (!store.add(test::some_measurement(run.run().id, i))) return 2;
      }
      return 0;
    }));
  }
  close(gate[0]);
  close(gate[1]);
  int failed = 0;
  for (const pid_t child : children) failed += test::wait_for(child) != 0;
  return failed;
}

}  // namespace

TEST_CASE("16 processes that open one new database at once and write 1,000 rows each lose none",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  REQUIRE(write_together(path, 16, 1000, {}) == 0);
  Store store = Store::open(path);
  const store::Info info = store.info();
  CHECK(info.measurements == 16000);
  CHECK(info.samples == 48000);
  CHECK(info.runs == 16);
  CHECK(info.journal_mode == "wal");
  CHECK(store.verify().empty());
}

TEST_CASE("cold starts do not fail: 25 new databases, 16 processes each", "[store]") {
  const test::TempFolder folder;
  for (int round = 0; round < 25; ++round) {
    const std::string path = folder.file(std::to_string(round));
    REQUIRE(write_together(path, 16, 1, {}) == 0);
    REQUIRE(Store::open(path).info().measurements == 16);
  }
}

TEST_CASE("without shared memory maps many processes lose no row either", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  const OpenOptions options{.busy_timeout_s = 120, .vfs = "unix-dotfile"};
  REQUIRE(write_together(path, 8, 20, options) == 0);
  REQUIRE(Store::open(path, options).info().measurements == 160);
}
