// What is kept of a run for the nightly check: always what its rows say.
#include <SQLiteCpp/SQLiteCpp.h>

#include <map>

#include "catch.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/merge.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

/// Row `i` as visit `i % 2` of process `i / 2` of one series, of another series for each problem.
Measurement visit(const std::string& run_id, std::int64_t i, double median_ns) {
  Measurement m = test::some_measurement(run_id, i);
  m.problem.seq_lens = {256};
  m.process = i / 2;
  m.median_ns = median_ns;
  return m;
}

struct Read {
  std::vector<std::int64_t> process;
  std::vector<double> median_ns;
  std::vector<std::optional<double>> cycles;
  bool tried = false;
  std::string failure;
};

Read read(const std::string& path, const std::string& run) {
  Read found;
  Store::open_existing(path).for_each_series(run, "cpu-0001", [&](const store::SeriesOfRun& s) {
    for (const store::ProcessTimes& one : s.processes) {
      found.process.push_back(one.process);
      found.median_ns.push_back(one.median_ns);
      found.cycles.push_back(one.cycles);
    }
    found.tried = s.tried;
    found.failure = s.failure;
  });
  return found;
}

std::int64_t kept(const std::string& path) {
  return SQLite::Database(path).execAndGet("SELECT count(*) FROM run_series").getInt64();
}

/// A run of three processes; one visit failed, one row is a control.
std::string make_run(Store& store) {
  const auto owned = store.open_run(test::some_request());
  const std::string run = owned.run().id;
  for (int i = 0; i < 5; ++i) {
    Measurement m = visit(run, i, 100.0 + 10 * i);
    if (i < 4) m.clocks.sm_mhz = 1000;
    store.add(m);
  }
  Measurement failed = visit(run, 5, 1);
  failed.outcome = Outcome::crashed;
  failed.median_ns.reset();
  failed.reason = "signal 9";
  store.add(failed);
  Measurement control = visit(run, 6, 7);
  control.control = true;
  store.add(control);
  return run;
}

}  // namespace

TEST_CASE("the series of a run are the same from its rows and as they are kept", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  const std::string run = make_run(store);
  const auto check = [&] {
    const Read found = read(path, run);
    CHECK(found.process == std::vector<std::int64_t>{0, 1, 2});
    CHECK(found.median_ns == std::vector<double>{105, 125, 140});
    CHECK(found.cycles == std::vector<std::optional<double>>{105, 125, std::nullopt});
    CHECK(found.tried);
    CHECK(found.failure == "crashed: signal 9");
  };
  CHECK(kept(path) == 0);
  check();
  store.end_run(run, RunState::complete);
  CHECK(kept(path) == 1);
  check();
  CHECK(store.verify().empty());
  CHECK(read(path, "another").process.empty());
}

TEST_CASE("a row that comes later is in the series, and the next end keeps them again", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  const std::string run = make_run(store);
  store.end_run(run, RunState::complete);
  store.add(visit(run, 8, 300));
  CHECK(kept(path) == 0);
  CHECK(read(path, run).median_ns == std::vector<double>{105, 125, 140, 300});
  const std::string next = make_run(store);
  store.end_run(next, RunState::incomplete);
  CHECK(kept(path) == 2);
  CHECK(read(path, run).median_ns == std::vector<double>{105, 125, 140, 300});
}

TEST_CASE("series that are not those of the rows are found", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  const std::string run = make_run(store);
  store.end_run(run, RunState::complete);
  test::tamper(path, "UPDATE measurement SET median_ns = 90 WHERE process = 1");
  const auto problems = store.verify();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("kept series") != std::string::npos);
  test::tamper(path, "UPDATE run_series SET processes = x'00'");
  CHECK(test::message_of<InputError>([&] { read(path, run); }).find("cut") != std::string::npos);
}

TEST_CASE("a merge keeps the series of all rows of a run", "[store]") {
  const test::TempFolder folder;
  const std::string one = folder.file("1.sqlite"), two = folder.file("2.sqlite"),
                    out = folder.file("out.sqlite");
  std::string run;
  {
    Store store = Store::open(one);
    run = make_run(store);
    store.end_run(run, RunState::complete);
  }
  std::filesystem::copy_file(one, two);
  Store::open(two).add(visit(run, 8, 300));
  store::merge({one, two}, out);
  CHECK(read(out, run).median_ns == std::vector<double>{105, 125, 140, 300});
  CHECK(kept(out) == 1);
  store::merge({two}, one);  // into a file that is there
  CHECK(read(one, run).median_ns == std::vector<double>{105, 125, 140, 300});
  CHECK(Store::open_existing(one).verify().empty());
}
