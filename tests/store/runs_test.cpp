#include <csignal>

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::OwnedRun;
using nsa::store::RunRequest;
using nsa::store::Store;

namespace {

std::string id_of(Store& store, const RunRequest& request) {
  return store.open_run(request).run().id;  // the owner goes at once
}

void age(const std::string& path, const std::string& run_id, const std::string& modifier) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  SQLite::Statement update(
      db, "UPDATE run SET started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?) WHERE id = ?");
  update.bind(1, modifier);
  update.bind(2, run_id);
  REQUIRE(update.exec() == 1);
}

}  // namespace

TEST_CASE("a run comes back with its environment and devices", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  RunRequest request = test::some_request();
  Device gpu;
  gpu.id = "cuda:0";
  gpu.backend = Backend::cuda;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-1";
  gpu.compute_capability = 90;
  gpu.memory_bytes = std::int64_t{139} << 30;
  gpu.l2_bytes = 52428800;
  gpu.power_limit_w = 700.5;
  gpu.max_clock_mhz = 1980;
  gpu.mig = false;
  gpu.ecc = true;
  gpu.driver = "580.95";
  gpu.runtime = "13.0";
  request.devices.push_back(gpu);
  const OwnedRun owned = store.open_run(request);
  const auto run = store.find_run(owned.run().id);
  REQUIRE(run);
  CHECK(run->environment == request.environment);
  CHECK(run->environment_hash == store::environment_hash(request.environment));
  CHECK(run->devices == request.devices);
  CHECK(run->spec_json == request.spec_json);
  CHECK(run->build_id == request.build_id);
  CHECK(run->state == RunState::open);
  CHECK_FALSE(run->ended_at);
  CHECK(store.find_run(owned.run().id.substr(0, 12))->id == owned.run().id);
  CHECK_FALSE(store.find_run("no such run"));
  CHECK_FALSE(store.find_run(""));
}

TEST_CASE("a sweep goes on with the open run that nobody owns", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const RunRequest request = test::some_request();
  const std::string first = id_of(store, request);
  const OwnedRun again = store.open_run(request);
  REQUIRE(again.resumed());
  REQUIRE(again.run().id == first);
}

TEST_CASE("another spec, build or environment, and --new, each open another run", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const std::string first = id_of(store, test::some_request());
  RunRequest request = test::some_request();
  SECTION("spec") { request.spec_hash = "spec-2"; }
  SECTION("build") { request.build_id = "nsatune 0.2.0"; }
  SECTION("environment") { request.environment.facts[0].value = "590.00"; }
  SECTION("new") { request.always_new = true; }
  const OwnedRun second = store.open_run(request);
  REQUIRE_FALSE(second.resumed());
  REQUIRE(second.run().id != first);
}

TEST_CASE("a run older than resume_within is left alone", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  RunRequest request = test::some_request();
  const std::string first = id_of(store, request);
  age(path, first, "-5 hours");
  REQUIRE(id_of(store, request) == first);
  age(path, first, "-7 hours");
  REQUIRE(id_of(store, request) != first);
  request.resume_within_s = 0;
  REQUIRE_FALSE(store.open_run(request).resumed());
}

TEST_CASE("an ended run is not gone on with", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const std::string first = id_of(store, test::some_request());
  const RunState state = GENERATE(RunState::complete, RunState::incomplete);
  store.end_run(first, state);
  REQUIRE(store.find_run(first)->state == state);
  REQUIRE(store.find_run(first)->ended_at);
  REQUIRE(id_of(store, test::some_request()) != first);
  REQUIRE_THROWS_AS(store.end_run("no such run", RunState::complete), ContractError);
}

TEST_CASE("a run whose owner lives is not shared, one whose owner was killed is", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  { Store::open(path); }
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t owner = test::fork_child([&] {
    Store store = Store::open(path);
    const OwnedRun run = store.open_run(test::some_request());
    if (write(ready[1], run.run().id.data(), 36) != 36) return 1;
    pause();
    return 0;
  });
  std::string owned(36, ' ');
  REQUIRE(read(ready[0], owned.data(), 36) == 36);
  Store store = Store::open(path);
  std::string other;
  {
    const OwnedRun run = store.open_run(test::some_request());
    other = run.run().id;
    CHECK(other != owned);
    CHECK_FALSE(run.resumed());
  }
  RunRequest by_id = test::some_request();
  by_id.resume_id = owned;
  CHECK_THROWS_AS(store.open_run(by_id), InputError);
  store.end_run(other, RunState::complete);
  kill(owner, SIGKILL);
  REQUIRE(test::wait_for(owner) == 1000 + SIGKILL);
  const OwnedRun run = store.open_run(test::some_request());
  REQUIRE(run.resumed());
  REQUIRE(run.run().id == owned);
}

TEST_CASE("a resume by id takes an ended or old run again, and says why it cannot", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  RunRequest request = test::some_request();
  const std::string first = id_of(store, request);
  store.end_run(first, RunState::incomplete);
  age(path, first, "-3 days");
  request.resume_id = first.substr(0, 13);
  {
    const OwnedRun run = store.open_run(request);
    REQUIRE(run.resumed());
    REQUIRE(run.run().id == first);
    REQUIRE(store.find_run(first)->state == RunState::open);
    REQUIRE_FALSE(store.find_run(first)->ended_at);
  }
  const auto refusal = [&](const RunRequest& r) {
    return test::message_of<InputError>([&] { store.open_run(r); });
  };
  RunRequest other = request;
  other.environment.facts[0].value = "590.00";
  CHECK(refusal(other).find("driver was '580.95', is '590.00'") != std::string::npos);
  other = request;
  other.spec_hash = "spec-2";
  CHECK(refusal(other).find("another spec") != std::string::npos);
  other = request;
  other.resume_id = "nothing";
  CHECK(refusal(other).find("no such run") != std::string::npos);
}

TEST_CASE("the newest run of a device is the newest one that measured on it", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store store = Store::open(path);
  RunRequest request = test::some_request();
  request.always_new = true;
  const std::string old_run = id_of(store, request);
  const std::string new_run = id_of(store, request);
  id_of(store, request);  // without measurements
  age(path, old_run, "-2 hours");
  age(path, new_run, "-1 hours");
  Measurement m = test::some_measurement(old_run, 1);
  m.placement = {{"node1", "GPU-1"}};
  store.add(m);
  store.add(test::some_measurement(old_run, 2));
  store.add(test::some_measurement(new_run, 3));
  CHECK(store.newest_run("GPU-1")->id == old_run);
  CHECK(store.newest_run("cpu-0001")->id == new_run);
  CHECK_FALSE(store.newest_run("GPU-2"));
  const auto runs = store.runs();
  REQUIRE(runs.size() == 3);
  CHECK(runs[1].id == new_run);
  CHECK(runs[2].id == old_run);
}
