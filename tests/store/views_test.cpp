// The views that people query by hand.
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
            "SELECT measurements || ' ' || samples || ' ' || mean_of_medians_ms || ' ' || "
            "lowest_median_ms || ' ' || highest_median_ms || ' ' || verified FROM "
            "variant_summary") == "2 6 1.5 1.0 2.0 1");
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
