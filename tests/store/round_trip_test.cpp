#include <limits>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Query;
using nsa::store::Store;

namespace {

/// A row in which no field has its default value.
Measurement full_measurement(const std::string& run_id) {
  Measurement m = test::some_measurement(run_id, 1);
  m.executor = "triton";
  m.placement = {{"node1", "GPU-1"}, {"node2", "GPU-2"}};
  Problem& p = m.problem;
  p.direction = Direction::backward;
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {17, 300};
  p.context_lens = {5, 4096};
  p.q_heads = 24;
  p.kv_heads = 3;
  p.head_dim_k = 192;
  p.head_dim_v = 128;
  p.geometry = {64, 32, 128, 8, 256};
  p.dtype = Dtype::bf16;
  p.selection = {SelectionPattern::smooth, 0.1 + 0.2};
  p.model = {768, 12, 50257};
  m.variant = {{"score", "attend_selected"}, "fused", {{"bq", 32}, {"aa", 1}}};
  m.process = 1;
  m.round = 2;
  m.position = 3;
  m.pair_id = "pair-7";
  m.control = true;
  m.held_out = true;
  m.launch = LaunchMode::graph;
  m.timer = Timer::cupti;
  m.cold = false;
  m.outcome = Outcome::noisy;
  m.reason = "spread \"40 %\"\nand more";
  m.note = "the 'timers' differ";
  m.verification = Verification::wrong_result;
  m.worst_row_error = 0.25;
  m.first_call_ns = 48211;
  m.workspace_bytes = std::int64_t{51} << 30;
  m.grow_events = 2;
  m.need = ReserveNeed{1, 2, 3, 4};
  m.clocks.sm_mhz = 1980;
  m.clocks.memory_mhz = 2619.5;
  m.clocks.temperature_c = 61;
  m.clocks.power_w = 699.25;
  m.clocks.throttle = "";
  m.samples = {{1, 2, 3, 4}, {5, 6, 7, {}}};
  m.samples_n = 2;
  return m;
}

/// Every field through JSON, which the schema tests cover, so that a new field cannot be forgotten.
Json as_json(const Measurement& m) { return Json(m); }

}  // namespace

TEST_CASE("a measurement comes back from the database with every field", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto owned = store.open_run(test::some_request());
  const Measurement full = full_measurement(owned.run().id);
  Measurement bare = test::some_measurement(owned.run().id, 2);
  bare.outcome = Outcome::unsupported;
  bare.median_ns.reset();
  bare.mad_ns.reset();
  bare.samples.clear();
  bare.samples_n = 0;
  bare.measured_at = "9999-01-01T00:00:00.000Z";  // the later one
  REQUIRE(store.add(full));
  REQUIRE(store.add(bare));

  Query query;
  query.with_samples = true;
  const auto rows = store.measurements(query);
  REQUIRE(rows.size() == 2);
  CHECK(as_json(rows[0]) == as_json(full));
  CHECK(as_json(rows[1]) == as_json(bare));
  CHECK(rows[0].samples == full.samples);
  CHECK(rows[0].variant == full.variant);  // the order of its coordinates included
  CHECK(rows[0].clocks == full.clocks);    // "" is not the same as absent
  CHECK(rows[1].need == std::nullopt);
  CHECK(store.measurements({})[0].samples.empty());
}

TEST_CASE("rows are visited one by one as they are returned together, none with parts of another",
          "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto run = store.open_run(test::some_request());
  for (int i = 0; i < 12; ++i) {
    Measurement m =
        i % 3 == 0 ? full_measurement(run.run().id) : test::some_measurement(run.run().id, i);
    m.job_key = std::to_string(i);
    m.measured_at = "2026-01-01T00:00:0" + std::to_string(i % 4) + ".000Z";  // ties go by the rest
    m.samples.resize(static_cast<std::size_t>(i % 3), {7, 8, 9, {}});
    m.samples_n = i % 3;
    REQUIRE(store.add(m));
  }
  for (const Query& query :
       {Query{.with_samples = true}, Query{}, Query{.variant = "fused"}, Query{.by_time = false}}) {
    Json visited = Json::array();
    store.for_each_measurement(query, [&](const Measurement& m) { visited.push_back(m); });
    CHECK(visited == Json(store.measurements(query)));
    CHECK(visited.size() == (query.variant ? 4 : 12));
    for (std::size_t i = 0; i < visited.size(); ++i) {
      if (!query.by_time) CHECK(visited[i]["job_key"] == std::to_string(i));
      if (i > 0 && query.by_time) CHECK(visited[i - 1]["measured_at"] <= visited[i]["measured_at"]);
    }
    for (const Json& row : visited) {
      const auto alone = store.measurements({.id = row["id"], .with_samples = query.with_samples});
      CHECK(row == Json(alone.at(0)));
    }
  }
  CHECK_THROWS_AS(store.for_each_measurement(
                      {}, [](const Measurement&) { throw std::runtime_error("enough"); }),
                  std::runtime_error);
  CHECK(store.measurements({}).size() == 12);  // the transaction of the visit has ended
}

TEST_CASE("an error that is not a number is stored as infinite, not as absent", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  Measurement m = test::some_measurement(store.open_run(test::some_request()).run().id, 1);
  m.worst_row_error = std::numeric_limits<double>::quiet_NaN();
  store.add(m);
  REQUIRE(store.measurements({}).at(0).worst_row_error == std::numeric_limits<double>::infinity());
}

TEST_CASE("the same job of a run is stored once, other executors, devices and controls beside it",
          "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto run = store.open_run(test::some_request());
  Measurement first = test::some_measurement(run.run().id, 1);
  REQUIRE(store.add(first));
  Measurement again = test::some_measurement(run.run().id, 1);
  REQUIRE_FALSE(store.add(again));
  again.control = true;
  REQUIRE(store.add(again));
  Measurement foreign = test::some_measurement(run.run().id, 1);
  foreign.executor = "triton";
  REQUIRE(store.add(foreign));
  Measurement elsewhere = test::some_measurement(run.run().id, 1);
  elsewhere.placement = {{"node1", "GPU-9"}};
  elsewhere.job_key = "job-elsewhere";
  REQUIRE(store.add(elsewhere));
  REQUIRE(store.info().measurements == 4);
  REQUIRE(store.finished_jobs(run.run().id) == std::set<std::string>{"job-1", "job-elsewhere"});
  REQUIRE(store.finished_jobs(run.run().id, "GPU-9") == std::set<std::string>{"job-elsewhere"});
  REQUIRE(store.finished_jobs(run.run().id, {}, "triton") == std::set<std::string>{"job-1"});
  REQUIRE(store.finished_jobs("another run").empty());
}

TEST_CASE("a measurement of a run that does not exist is a broken contract", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  REQUIRE_THROWS_AS(store.add(test::some_measurement("no such run", 1)), ContractError);
  REQUIRE(store.info().measurements == 0);
}

TEST_CASE("a query narrows by run, device, stage, variant and a prefix of the id", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto run_a = store.open_run(test::some_request());
  const auto run_b = store.open_run(test::some_request());
  Measurement one = test::some_measurement(run_a.run().id, 1);
  one.id = "aaaa-1";
  Measurement two = test::some_measurement(run_b.run().id, 2);
  two.id = "aaaa-2";
  two.variant = {{"ranges"}, "ranges_v2", {}};
  two.placement = {{"node1", "GPU-9"}};
  store.add(one);
  store.add(two);
  const auto ids = [&](auto&& narrow) {
    Query query;
    narrow(query);
    std::string found;
    for (const Measurement& m : store.measurements(query)) found += m.id + " ";
    return found;
  };
  CHECK(ids([&](Query& q) { q.run_id = run_a.run().id; }) == "aaaa-1 ");
  CHECK(ids([](Query& q) { q.device_uuid = "GPU-9"; }) == "aaaa-2 ");
  CHECK(ids([](Query& q) { q.stage = "ranges"; }) == "aaaa-2 ");
  CHECK(ids([](Query& q) { q.variant = "fused_query"; }) == "aaaa-1 ");
  CHECK(ids([](Query& q) { q.id = "aaaa-1"; }) == "aaaa-1 ");
  CHECK(ids([](Query& q) { q.id = "b"; }).empty());
  CHECK(ids([](Query& q) { q.id = ""; }).empty());
  CHECK(ids([](Query& q) { q.id = "' OR 1 --"; }).empty());
  CHECK_THROWS_AS(ids([](Query& q) { q.id = "aaaa"; }), InputError);
}

TEST_CASE("variants whose texts are equal stay apart in the database", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto run = store.open_run(test::some_request());
  Measurement one = test::some_measurement(run.run().id, 1);
  Measurement two = test::some_measurement(run.run().id, 2);
  one.variant = {{"ranges"}, "x", {{"b", 1}}};
  two.variant = {{"ranges"}, "x.b=1", {}};
  REQUIRE(to_string(one.variant) == to_string(two.variant));
  store.add(one);
  store.add(two);
  Query query;
  query.id = two.id;
  REQUIRE(store.measurements(query).at(0).variant == two.variant);
}

TEST_CASE("telemetry comes back, with and without a run", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("a.sqlite"));
  const auto run = store.open_run(test::some_request());
  const store::TelemetryRow alone{make_uuid(), "", "2026-01-01T00:00:00.000Z", "run --preset 125m",
                                  Json{{"engaged", {{"masked", 3}}}}};
  const store::TelemetryRow owned{make_uuid(), run.run().id, "2026-01-02T00:00:00.000Z", "sweep",
                                  Json::object()};
  store.add(alone);
  store.add(owned);
  store.add(owned);
  const auto all = store.telemetry(std::nullopt);
  REQUIRE(all.size() == 2);
  CHECK(all[0].report == alone.report);
  CHECK(all[0].run_id.empty());
  CHECK(all[1].command == "sweep");
  REQUIRE(store.telemetry(run.run().id).size() == 1);
}

namespace {

LaunchTraceRow some_trace(const std::string& run_id) {
  LaunchTraceRow row;
  row.id = make_uuid();
  row.run_id = run_id;
  row.executor = "triton";
  row.placement = {{"node1", "GPU-1"}};
  row.variant = {{"score", "attend_selected"}, "fused", {{"bq", 32}}};
  row.source_hash = "9f";
  row.launch = LaunchMode::graph;
  row.traced_at = "2026-01-02T03:04:05.000Z";
  row.trace = {{{"void f<int>(int)", 2, 300}, {"g \"quoted\"", 1, 50}},
               3,
               1,
               2,
               10,
               20,
               30,
               40,
               340,
               400,
               5,
               341.5,
               std::nullopt,
               "timers disagree"};
  return row;
}

}  // namespace

TEST_CASE("a traced launch comes back with its kernels in order, and is kept once", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("r.sqlite"));
  const auto run = store.open_run(test::some_request());
  const LaunchTraceRow row = some_trace(run.run().id);
  CHECK(store.add(row));
  LaunchTraceRow again = row;
  again.id = make_uuid();
  CHECK_FALSE(store.add(again));
  const auto found = store.launch_traces({.run_id = run.run().id, .variant = "fused"});
  REQUIRE(found.size() == 1);
  CHECK(found.front() == row);
  CHECK(store.launch_traces({.variant = "another"}).empty());
  CHECK(store.launch_traces({.device_uuid = "GPU-1"}).size() == 1);
  CHECK(store.launch_traces({.device_uuid = "GPU-2"}).empty());
  CHECK(store.verify().empty());
}
