// Samples go, aggregates stay; alone with the file; safe on kill.
#include <csignal>

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "catch.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/merge.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

constexpr const char* kLater = "2100-01-01T00:00:00.000Z";

/// The rows of a file without their samples.
std::vector<std::string> aggregates(const std::string& path) {
  std::vector<std::string> rows;
  for (const Measurement& row : Store::open_existing(path).measurements({}))
    rows.push_back(Json(row).dump());
  return rows;
}

std::size_t samples_in(const std::string& path) {
  std::size_t count = 0;
  for (const Measurement& row : Store::open_existing(path).measurements({.with_samples = true}))
    count += row.samples.size();
  return count;
}

/// Runs that began on 2026-01-01, -02, ... and have ended, but for the last.
void make_runs(const std::string& path, int count, int rows) {
  {
    Store store = Store::open(path);
    for (int i = 0; i < count; ++i) {
      store::RunRequest request = test::some_request();
      request.always_new = true;
      const auto run = store.open_run(request);
      for (int k = 0; k < rows; ++k) store.add(test::some_measurement(run.run().id, k));
      if (i + 1 < count) store.end_run(run.run().id, RunState::complete);
    }
  }
  test::tamper(path, "UPDATE run SET started_at = printf('2026-01-%02dT02:00:00.000Z', rowid)");
}

}  // namespace

TEST_CASE("prune drops the samples of runs that began before a day and have ended", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_runs(path, 4, 10);
  const auto before = aggregates(path);
  Store store = Store::open(path);
  const store::Pruned would = store.prunable("2026-01-03T00:00:00.000Z");
  CHECK(would.runs == 2);
  CHECK(would.rows == 20);
  CHECK(would.samples == 60);
  CHECK(samples_in(path) == 120);
  const store::Pruned pruned = store.prune("2026-01-03T00:00:00.000Z");
  CHECK(pruned.samples == would.samples);
  CHECK(pruned.bytes == would.bytes);
  CHECK(samples_in(path) == 60);
  CHECK(aggregates(path) == before);
  CHECK(store.info().samples == 120);  // that were measured
  CHECK(store.verify().empty());
  CHECK(store.prune("2026-01-03T00:00:00.000Z").rows == 0);
  CHECK(store.prune(kLater).runs == 1);  // the last one is open
  CHECK(samples_in(path) == 30);
}

TEST_CASE("a pruned file is smaller, by all that it says", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    for (int i = 0; i < 20; ++i) {
      Measurement m = test::some_measurement(run.run().id, i);
      m.samples.resize(1000, m.samples.front());
      m.samples_n = 1000;
      store.add(m);
    }
    store.end_run(run.run().id, RunState::complete);
  }
  Store store = Store::open(path);
  const std::int64_t before = store.info().bytes;
  const store::Pruned pruned = store.prune(kLater);
  CHECK(pruned.bytes > 20 * 1000 * 24);
  CHECK(before - store.info().bytes > pruned.bytes * 9 / 10);
}

TEST_CASE("a sweep and a prune of one file exclude each other", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_runs(path, 2, 3);
  Store store = Store::open(path), other = Store::open(path);
  {
    store::RunRequest request = test::some_request();
    request.always_new = true;
    const auto run = store.open_run(request);
    const auto second = other.open_run(request);  // sweeps do not exclude each other
    CHECK(test::message_of<EnvironmentError>([&] { other.prune(kLater); }).find("a sweep") !=
          std::string::npos);
    CHECK(samples_in(path) == 18);
  }
  CHECK(other.prune(kLater).runs == 1);
}

TEST_CASE("a prune that is killed leaves each run whole, and the next goes on", "[store]") {
  const test::TempFolder folder;
  const std::string whole = folder.file("whole.sqlite"), path = folder.file("a.sqlite");
  make_runs(whole, 30, 5);
  const auto before = aggregates(whole);
  for (int k = 0; k < 25; ++k) {
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
    std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
    const pid_t child = test::fork_child([&] {
      Store::open(path).prune(kLater);
      return 0;
    });
    usleep(static_cast<useconds_t>(k * 800));
    kill(child, SIGKILL);
    test::wait_for(child);
    CHECK(aggregates(path) == before);
    CHECK(samples_in(path) % 15 == 0);  // of a run, all or none
    Store store = Store::open(path);
    store.prune(kLater);
    CHECK(samples_in(path) == 15);
    CHECK(store.verify().empty());
  }
}

TEST_CASE("a merge takes the samples from the file that has them, in any order", "[store]") {
  const test::TempFolder folder;
  const std::string whole = folder.file("whole.sqlite"), pruned = folder.file("pruned.sqlite");
  test::make_fleet(whole, 2);
  std::filesystem::copy_file(whole, pruned);
  Store::open(pruned).prune(kLater);
  REQUIRE(samples_in(pruned) < samples_in(whole));
  const std::string content = test::content_of(whole);
  store::merge({whole, pruned}, folder.file("a.sqlite"));
  store::merge({pruned, whole}, folder.file("b.sqlite"));
  store::merge({whole}, pruned);
  for (const std::string& merged : {folder.file("a.sqlite"), folder.file("b.sqlite"), pruned})
    CHECK(test::content_of(merged) == content);
}
