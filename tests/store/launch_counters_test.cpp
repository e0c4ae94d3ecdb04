// Counters of launches, and the reasons why there are none.
#include "catch.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

TEST_CASE("counters of a launch come back with their metrics in order, and are kept once",
          "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("r.sqlite"));
  const auto run = store.open_run(test::some_request());
  LaunchCountersRow row;
  row.id = make_uuid();
  row.run_id = run.run().id;
  row.executor = "triton";
  row.placement = {{"node1", "GPU-1"}};
  row.variant = {{"score", "attend_selected"}, "fused", {{"bq", 32}}};
  row.source_hash = "9f";
  row.launch = LaunchMode::graph;
  row.cold = false;
  row.counted_at = "2026-01-02T03:04:05.000Z";
  row.counters = {"GH100",
                  0.8,
                  0.4,
                  0.0,
                  268435456,
                  std::nullopt,
                  131.5,
                  2,
                  {{"b", 2}, {"a", 1.5}},
                  "not counted: bytes written to DRAM"};
  CHECK(store.add(row));
  LaunchCountersRow again = row;
  again.id = make_uuid();
  CHECK_FALSE(store.add(again));
  LaunchCountersRow refused = row;  // the same on another device, where they were not read
  refused.id = make_uuid();
  refused.placement = {{"node1", "GPU-2"}};
  refused.outcome = Outcome::unsupported;
  refused.reason = "administrators only";
  refused.counters = {};
  CHECK(store.add(refused));
  const auto found =
      store.launch_counters({.run_id = run.run().id, .device_uuid = "GPU-1", .variant = "fused"});
  REQUIRE(found.size() == 1);
  CHECK(found.front() == row);
  CHECK(store.launch_counters({.device_uuid = "GPU-2"}) == std::vector<LaunchCountersRow>{refused});
  CHECK(store.launch_counters({.variant = "another"}).empty());
  CHECK(store.verify().empty());
}
