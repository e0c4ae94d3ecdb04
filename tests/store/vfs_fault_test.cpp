// The disk fails, tears a write or is full at each call that SQLite makes, one after another: the
// file stays whole, the error is one line, no row that was kept is lost, and none is kept twice.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "catch.hpp"
#include "fault_vfs.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;
using nsa::test::Fault;

namespace {

constexpr const char* kVfs = "faulty";

/// What a sweep does: opens, takes its run, adds row after row, ends the run. An error ends it.
struct Sweep {
  std::set<std::int64_t> kept;  // rows that add() has taken
  std::string error;            // what the user would read

  Sweep(const std::string& path, std::int64_t rows) {
    try {
      Store store = Store::open(path, {.busy_timeout_s = 0.2, .vfs = kVfs});
      const auto owned = store.open_run(test::some_request());
      const auto finished = store.finished_jobs(owned.run().id);
      for (std::int64_t i = 0; i < rows; ++i) {
        const Measurement row = test::some_measurement(owned.run().id, i);
        if (finished.contains(row.job_key)) continue;
        store.add(row);
        kept.insert(i);
      }
      store.end_run(owned.run().id, RunState::complete);
    } catch (const EnvironmentError& e) {
      error = e.what();
    } catch (const InputError& e) {
      error = e.what();
    }
  }
};

void check_error(const std::string& error, const std::string& path) {
  INFO(error);
  CHECK(error.find(path) != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
}

/// One run with so many rows, in a file without a fault.
void check_kept(const std::string& path, std::int64_t rows) {
  const Store store = Store::open_existing(path);
  CHECK(store.info().measurements == rows);
  CHECK(store.info().runs == 1);
  CHECK(store.verify().empty());
}

/// The same command again, on a disk that is well: goes on, and measures nothing twice.
void check_goes_on(const std::string& path, const Sweep& broken, std::int64_t rows) {
  const Sweep again(path, rows);
  CHECK(again.error.empty());
  std::int64_t twice = 0;
  for (const std::int64_t row : again.kept) twice += broken.kept.contains(row) ? 1 : 0;
  CHECK(twice == 0);
  check_kept(path, rows);
}

/// How many calls a sweep makes when nothing fails.
std::int64_t calls_of(test::FaultVfs& vfs, std::int64_t rows) {
  const test::TempFolder folder;
  const std::int64_t before = vfs.calls();
  const Sweep whole(folder.file("a.sqlite"), rows);
  REQUIRE(whole.error.empty());
  return vfs.calls() - before;
}

/// One sweep that meets the fault at this call, and the command again. False: it was not met.
bool sweep_with(test::FaultVfs& vfs, Fault fault, std::int64_t call, std::int64_t rows) {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  CAPTURE(static_cast<int>(fault), call);
  vfs.arm(fault, call);
  const Sweep broken(path, rows);
  const bool met = vfs.met();
  vfs.heal();
  if (broken.error.empty()) {  // it was tried again, or fell into the last cleaning up
    CHECK(static_cast<std::int64_t>(broken.kept.size()) == rows);
    check_kept(path, rows);
  } else {
    check_error(broken.error, path);
    check_goes_on(path, broken, rows);
  }
  return met;
}

/// Every `stride`-th call, from the `first` on, of a sweep of so many rows, with each kind of
/// fault.
void sweep_through(std::int64_t rows, std::int64_t stride, std::int64_t first = 0) {
  test::FaultVfs vfs(kVfs);
  const std::int64_t calls = calls_of(vfs, rows);
  CAPTURE(calls);
  CHECK(calls > rows);
  std::int64_t met = 0, tried = 0;
  for (const Fault fault : {Fault::fail, Fault::tear, Fault::full}) {
    for (std::int64_t call = first; call < calls; call += stride, ++tried)
      met += sweep_with(vfs, fault, call, rows) ? 1 : 0;
  }
  WARN(met << " faults met in " << tried << " sweeps of " << calls << " calls");
  CHECK(met > tried / 2);
}

}  // namespace

TEST_CASE(
    "a disk that fails, tears or is full at any call loses nothing, and the same command goes on",
    "[store]") {
  sweep_through(12, 7);
}

TEST_CASE("the same at every call of a sweep of 1,000 rows", "[.long][every_call]") {
  // NSATUNE_FAULT_STRIDE=10 NSATUNE_FAULT_FIRST=3: calls 3, 13, ..., for ten machines at once.
  const auto number = [](const char* name, int otherwise) {
    const char* set = std::getenv(name);
    return set ? std::atoi(set) : otherwise;
  };
  const int stride = std::max(1, number("NSATUNE_FAULT_STRIDE", 1));
  sweep_through(1000, stride, std::clamp(number("NSATUNE_FAULT_FIRST", 0), 0, stride - 1));
}

TEST_CASE("after a full disk was freed the same sweep can go on writing", "[store]") {
  test::FaultVfs vfs(kVfs);
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path, {.busy_timeout_s = 0.2, .vfs = kVfs});
  const auto owned = store.open_run(test::some_request());
  store.add(test::some_measurement(owned.run().id, 0));
  for (std::int64_t call = 0; call < 6; ++call) {
    CAPTURE(call);
    const Measurement row = test::some_measurement(owned.run().id, 1 + call);
    vfs.arm(Fault::full, call);
    const std::string error = test::message_of<EnvironmentError>([&] { store.add(row); });
    vfs.heal();
    if (!error.empty()) CHECK(store.add(row));
    CHECK(store.info().measurements == 2 + call);
  }
  CHECK(store.verify().empty());
}
