// The views that people query by hand.
#include <fmt/format.h>
#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

std::string one(SQLite::Database& db, const std::string& sql) {
  return db.execAndGet(sql).getString();
}

}  // namespace

TEST_CASE("measurement_summary spells out a row with its rates", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    Measurement m = test::some_measurement(run.run().id, 0);
    m.median_ns = 2e6;
    m.cost = {8e9, 4e6};
    m.note = "the timers differ";
    m.held_out = true;
    store.add(m);
    Measurement failed = test::some_measurement(run.run().id, 1);
    failed.outcome = Outcome::timeout;
    failed.median_ns.reset();
    store.add(failed);
  }
  SQLite::Database db(path);
  CHECK(one(db,
            "SELECT device || ' ' || stages || ' ' || variant || ' ' || seq_len || ' ' || "
            "median_ms || ' ' || tflop_per_s || ' ' || gb_per_s FROM measurement_summary WHERE "
            "outcome = 'ok'") == "Some CPU attend_selected fused_query 256 2.0 4.0 2.0");
  CHECK(one(db, "SELECT note FROM measurement_summary WHERE held_out = 1") == "the timers differ");
  CHECK(one(db,
            "SELECT median_ms IS NULL AND tflop_per_s IS NULL FROM measurement_summary WHERE "
            "outcome = 'timeout'") == "1");
}

TEST_CASE("variant_summary counts only rows that may decide", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    for (int i = 0; i < 6; ++i) {
      Measurement m = test::some_measurement(run.run().id, 8 * i);  // one problem
      m.median_ns = 1e6 * (i + 1);
      if (i == 2) m.verification = Verification::wrong_result;
      if (i == 3) m.outcome = Outcome::noisy;
      if (i == 4) m.control = true;
      if (i == 5) m.held_out = true;
      store.add(m);
    }
  }
  SQLite::Database db(path);
  CHECK(one(db, "SELECT count(*) FROM variant_summary") == "1");
  CHECK(one(db,
            "SELECT measurements || ' ' || samples || ' ' || median_ms || ' ' || "
            "lowest_median_ms || ' ' || highest_median_ms || ' ' || verified FROM "
            "variant_summary") == "2 6 1.5 1.0 2.0 1");
}

TEST_CASE("variant_summary gives a median, of an odd and of an even number of rows", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    const auto add = [&](std::int64_t number, double ms) {
      Measurement m = test::some_measurement(run.run().id, number);
      m.median_ns = 1e6 * ms;
      store.add(m);
    };
    for (const auto& [number, ms] : {std::pair{0, 9.0}, {8, 1.0}, {16, 2.0}}) add(number, ms);
    for (const auto& [number, ms] : {std::pair{1, 1.0}, {9, 8.0}, {17, 2.0}, {25, 4.0}})
      add(number, ms);
  }
  SQLite::Database db(path);
  CHECK(one(db, "SELECT median_ms FROM variant_summary WHERE seq_len = 256") == "2.0");
  CHECK(one(db, "SELECT median_ms FROM variant_summary WHERE seq_len = 272") == "3.0");
}

TEST_CASE("no two lines of variant_summary look the same, whatever of a row differs", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  using Change = void (*)(Measurement&);
  const Change changes[] = {[](Measurement&) {},
                            [](Measurement& m) { m.problem.direction = Direction::backward; },
                            [](Measurement& m) { m.problem.kv_heads = 4; },
                            [](Measurement& m) { m.problem.head_dim_v = 32; },
                            [](Measurement& m) { m.problem.geometry.sel_count = 8; },
                            [](Measurement& m) { m.problem.geometry.window = 0; },
                            [](Measurement& m) { m.problem.geometry.cmp_stride = 8; },
                            [](Measurement& m) {
                              m.problem.seq_lens = {256, 100};
                            },
                            [](Measurement& m) {
                              m.problem.seq_lens = {256, 101};
                            },
                            [](Measurement& m) {
                              m.problem.model = {768, 12, 50257};
                            },
                            [](Measurement& m) { m.source_hash = "another"; },
                            [](Measurement& m) { m.launch = LaunchMode::graph; },
                            [](Measurement& m) { m.cold = false; },
                            [](Measurement& m) { m.executor = "triton"; },
                            [](Measurement& m) { m.placement[0].device_uuid = "cpu-0002"; }};
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    std::int64_t number = 0;
    for (const Change change : changes) {
      Measurement m = test::some_measurement(run.run().id, 8 * number++);
      change(m);
      store.add(m);
    }
  }
  SQLite::Database db(path);
  CHECK(one(db, "SELECT count(*) FROM variant_summary") == std::to_string(std::size(changes)));
  // Ids are no answer to what differs.
  const std::string columns =
      one(db,
          "SELECT group_concat(name) FROM pragma_table_info('variant_summary') WHERE name NOT IN "
          "('problem_id', 'median_ms', 'lowest_median_ms', 'highest_median_ms')");
  CHECK(one(db, "SELECT count(*) FROM (SELECT DISTINCT " + columns + " FROM variant_summary)") ==
        std::to_string(std::size(changes)));
}

TEST_CASE("variant_summary has the agreement of the variant on that problem", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    const auto run = store.open_run(test::some_request());
    for (std::int64_t i = 0; i < 2; ++i) store.add(test::some_measurement(run.run().id, i));
    const Measurement m = test::some_measurement(run.run().id, 1);
    AgreementRow row;
    row.id = make_uuid();
    row.run_id = m.run_id;
    row.placement = m.placement;
    row.problem = m.problem;
    row.variant = m.variant;
    row.agreement = {64, 48};
    store.add(row);
  }
  SQLite::Database db(path);
  CHECK(one(db,
            "SELECT group_concat(seq_len || ' ' || coalesce(agreement, '-')) FROM (SELECT * FROM "
            "variant_summary ORDER BY seq_len)") == "256 -,272 0.75");
}

TEST_CASE("environment_change has a line for each fact that differs from the run before",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    store::RunRequest request = test::some_request();
    request.always_new = true;
    store.open_run(request);
    request.environment.facts[0].value = "590.10";
    request.environment.facts.push_back({"env.NSA_USE_FA2", "1", true});
    store.open_run(request);
    store.open_run(request);
    request.devices[0].uuid = "cpu-0002";  // the first run there
    request.environment.facts.clear();
    store.open_run(request);
  }
  SQLite::Database db(path);
  CHECK(one(db,
            "SELECT group_concat(line) FROM (SELECT key || ' ' || coalesce(before_value, '-') || "
            "' ' || coalesce(after_value, '-') AS line FROM environment_change ORDER BY key)") ==
        "driver 580.95 590.10,env.NSA_USE_FA2 - 1");
}

TEST_CASE("environment_change takes runs of one millisecond in the order in which they were added",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  constexpr int kRuns = 12;
  {
    Store store = Store::open(path);
    store::RunRequest request = test::some_request();
    request.always_new = true;
    for (int i = 0; i < kRuns; ++i) {
      request.environment.facts[0].value = fmt::format("driver {:02}", i);
      store.open_run(request);
    }
  }
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec("UPDATE run SET started_at = '2026-01-01T00:00:00.000Z'");
  CHECK(one(db,
            "SELECT count(*) FROM environment_change WHERE after_value = "
            "printf('driver %02d', substr(before_value, 8) + 1)") == std::to_string(kRuns - 1));
}

TEST_CASE("run_summary has one line per run, also for a run without rows", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    Store store = Store::open(path);
    store::RunRequest request = test::some_request();
    const auto empty = store.open_run(request);
    const auto run = store.open_run(request);
    Measurement m = test::some_measurement(run.run().id, 1);
    m.verification = Verification::wrong_result;
    store.add(m);
  }
  SQLite::Database db(path);
  CHECK(one(db,
            "SELECT group_concat(n) FROM (SELECT devices || ' ' || measurements || ' ' || ok "
            "|| ' ' || wrong_result || ' ' || samples AS n FROM run_summary ORDER BY n)") ==
        "Some CPU 0 0 0 0,Some CPU 1 1 1 3");
}
