#include "file/migrate.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Migration;

namespace {

constexpr Migration kOne{1, "CREATE TABLE a (x)"};
constexpr Migration kTwo{2, "ALTER TABLE a ADD COLUMN y; CREATE TABLE b (z)"};
constexpr Migration kBroken{3, "CREATE TABLE c (x); CREATE TABLE a (x)"};

std::string tables(SQLite::Database& db) {
  return db.execAndGet("SELECT group_concat(name, ' ') FROM sqlite_schema").getString();
}
int version(SQLite::Database& db) { return db.execAndGet("PRAGMA user_version").getInt(); }

/// Makes a file of an older version with the rows of `newer`, in the tables and columns of then.
void make_older(const std::string& newer, const std::string& path, std::size_t steps) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  store::migrate(db, path, store::migrations().first(steps));
  db.exec("ATTACH '" + newer + "' AS newer");
  SQLite::Statement table(db,
                          "SELECT t.name, group_concat(c.name) FROM main.sqlite_schema t, "
                          "pragma_table_info(t.name, 'main') c WHERE t.type = 'table' GROUP BY 1");
  std::vector<std::string> copies;
  while (table.executeStep()) {
    const std::string name = table.getColumn(0), columns = table.getColumn(1);
    copies.push_back("INSERT INTO main." + name + " (" + columns + ") SELECT " + columns +
                     " FROM newer." + name);
  }
  table.reset();
  for (const std::string& copy : copies) db.exec(copy);
}

/// A row as version 3 stored it: reason and note in one column.
Measurement row_of_version_3(const std::string& run_id, std::int64_t i, Outcome outcome,
                             Verification verification, const std::string& reason) {
  Measurement m = test::some_measurement(run_id, i);
  m.outcome = outcome;
  m.verification = verification;
  m.reason = reason;
  return m;
}

}  // namespace

TEST_CASE("only the steps that are missing run, in one transaction", "[store]") {
  const test::TempFolder folder;
  SQLite::Database db(folder.file("a"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const Migration first[] = {kOne};
  store::migrate(db, "a", first);
  REQUIRE(version(db) == 1);
  const Migration both[] = {kOne, kTwo};
  store::migrate(db, "a", both);
  REQUIRE(version(db) == 2);
  REQUIRE(tables(db) == "a b");
  store::migrate(db, "a", both);
  REQUIRE(tables(db) == "a b");
  REQUIRE(db.execAndGet("PRAGMA application_id").getInt64() == store::kApplicationId);
}

TEST_CASE("a step that fails leaves the version and every table as they were", "[store]") {
  const test::TempFolder folder;
  SQLite::Database db(folder.file("a"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const Migration first[] = {kOne};
  store::migrate(db, "a", first);
  const Migration all[] = {kOne, kTwo, kBroken};
  REQUIRE_THROWS_AS(store::migrate(db, "a", all), SQLite::Exception);
  REQUIRE(version(db) == 1);
  REQUIRE(tables(db) == "a");
}

TEST_CASE("nothing goes back to an older version", "[store]") {
  const test::TempFolder folder;
  SQLite::Database db(folder.file("a"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const Migration both[] = {kOne, kTwo};
  store::migrate(db, "a", both);
  const Migration first[] = {kOne};
  REQUIRE_THROWS_AS(store::migrate(db, "a", first), InputError);
  REQUIRE(version(db) == 2);
}

TEST_CASE("a process killed before the schema was written leaves a file that opens", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA journal_mode = WAL");  // converted, nothing else
  }
  REQUIRE(store::Store::open(path).info().schema_version == store::newest_version());
}

TEST_CASE("a file of version 1 keeps its rows and gets what is new", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  const auto steps = store::migrations();
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    store::migrate(db, path, steps.first(1));
    db.exec(
        "INSERT INTO run VALUES ('r1', 'h', '{}', 'b', 'e', '2026-01-01T00:00:00.000Z', NULL, "
        "'open')");
  }
  const store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  CHECK(store.info().runs == 1);
  CHECK(store.launch_traces({}).empty());
}

TEST_CASE("a file of version 2 keeps its traces and takes counters", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), newer = folder.file("newer.sqlite");
  LaunchTraceRow trace;
  LaunchCountersRow counters;
  trace.id = "t";
  counters.id = "c";
  {
    store::Store store = store::Store::open(newer);
    trace.run_id = counters.run_id = store.open_run(test::some_request()).run().id;
    REQUIRE(store.add(trace));
  }
  make_older(newer, path, 2);
  store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  CHECK(store.launch_traces({}) == std::vector<LaunchTraceRow>{trace});
  CHECK(store.launch_counters({}).empty());
  CHECK(store.add(counters));
  CHECK(store.launch_counters({}) == std::vector<LaunchCountersRow>{counters});
  CHECK(store.verify().empty());
}

TEST_CASE("a file of version 3 keeps its reasons, and notes of ok rows leave them", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), newer = folder.file("newer.sqlite");
  struct Case {
    Outcome outcome;
    Verification verification;
    std::string reason_then, reason, note;
  };
  const std::vector<Case> cases{
      {Outcome::ok, Verification::verified, "note: 5 ns is less; note: the timers differ", "",
       "5 ns is less; the timers differ"},
      {Outcome::ok, Verification::unverified, "note: the timers differ", "", "the timers differ"},
      {Outcome::ok, Verification::verified, "", "", ""},
      {Outcome::ok, Verification::verified, "Note: by hand", "Note: by hand", ""},
      {Outcome::ok, Verification::wrong_result, "note: row 5", "note: row 5", ""},
      {Outcome::timeout, Verification::unverified, "note: no answer", "note: no answer", ""}};
  {
    store::Store store = store::Store::open(newer);
    const std::string run = store.open_run(test::some_request()).run().id;
    for (std::size_t i = 0; i < cases.size(); ++i)
      REQUIRE(store.add(row_of_version_3(run, static_cast<std::int64_t>(i), cases[i].outcome,
                                         cases[i].verification, cases[i].reason_then)));
  }
  make_older(newer, path, 3);
  const store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  const auto rows = store.measurements({});
  REQUIRE(rows.size() == cases.size());
  for (const Measurement& row : rows) {
    const Case& c = cases.at(std::stoul(row.job_key.substr(4)));
    INFO(c.reason_then);
    CHECK(row.reason == c.reason);
    CHECK(row.note == c.note);
  }
  CHECK(store.verify().empty());
}

TEST_CASE("a file of version 4 keeps its rows, none of them held out", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), newer = folder.file("newer.sqlite");
  Measurement row;
  {
    store::Store store = store::Store::open(newer);
    row = test::some_measurement(store.open_run(test::some_request()).run().id, 1);
    REQUIRE(store.add(row));
  }
  make_older(newer, path, 4);
  store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  const auto rows = store.measurements({.with_samples = true});
  REQUIRE(rows.size() == 1);
  CHECK(Json(rows[0]) == Json(row));
  row.id = make_uuid();
  row.job_key = "held out";
  row.held_out = true;
  REQUIRE(store.add(row));
  CHECK(store.measurements({.id = row.id}).at(0).held_out);
  CHECK(store.verify().empty());
}

TEST_CASE("variants of version 10 get the ids of today, and new rows join them", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), newer = folder.file("newer.sqlite");
  std::vector<Measurement> rows;
  const std::vector<VariantId> variants{{{"attend_selected"}, "fused_query", {{"bq", 64}}},
                                        {{"attend_selected"}, "packed", {{"reserve_rows", 0}}},
                                        {{"score"}, "theirs", {{"b", 1}, {"a", -2}}},
                                        {{"score"}, "theirs", {{"l2", 3}}},
                                        {{"score"}, "odd name", {{"b", 1}}},
                                        {{"ranges"}, "ranges_v2", {}}};
  {
    store::Store store = store::Store::open(newer);
    store::OwnedRun run = store.open_run(test::some_request());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      rows.push_back(test::some_measurement(run.run().id, static_cast<std::int64_t>(i)));
      rows.back().variant = variants[i];
      REQUIRE(store.add(rows.back()));
    }
  }
  const auto text_of = [](const std::string& file, const std::string& sql) {
    return SQLite::Database(file).execAndGet(sql).getString();
  };
  const std::string all =
      "SELECT group_concat(variant_id) FROM (SELECT variant_id FROM measurement ORDER BY job_key)";
  const std::string ids = text_of(newer, all);
  CHECK(ids.starts_with("attend_selected/fused_query.bq=64,"));
  make_older(newer, path, 10);
  // As programs of then wrote them: two spellings of one variant, and points whose text was another
  // variant's.
  test::tamper(path, R"(
    INSERT INTO variant VALUES
      ('attend_selected/fused_query.t64', 'attend_selected', 'fused_query', '{"t":64}'),
      ('attend_selected/fused_query.bq64', 'attend_selected', 'fused_query', '{"bq":64}'),
      ('attend_selected/packed.rn0', 'attend_selected', 'packed', '{"rn":0}'),
      ('score/theirs.b1.a-2#0123', 'score', 'theirs', '{"b":1,"a":-2}'),
      ('score/theirs.l23#4567', 'score', 'theirs', '{"l2":3}');
    UPDATE measurement SET variant_id = 'attend_selected/fused_query.t64' WHERE job_key = 'job-0';
    UPDATE measurement SET variant_id = 'attend_selected/packed.rn0' WHERE job_key = 'job-1';
    UPDATE measurement SET variant_id = 'score/theirs.b1.a-2#0123' WHERE job_key = 'job-2';
    UPDATE measurement SET variant_id = 'score/theirs.l23#4567' WHERE job_key = 'job-3';
    UPDATE variant SET id = replace(id, 'b=1', 'b1') WHERE name = 'odd name';
    UPDATE measurement SET variant_id = replace(variant_id, 'b=1', 'b1') WHERE job_key = 'job-4';
    DELETE FROM variant WHERE id LIKE '%=%';
  )");
  store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  CHECK(text_of(path, all) == ids);
  CHECK(text_of(path, "SELECT group_concat(point, '') FROM variant WHERE id LIKE 'attend%'") ==
        R"({"bq":64}{"reserve_rows":0})");
  for (Measurement row : rows) {
    CHECK(store.measurements({.id = row.id}).at(0).variant == row.variant);
    row.id = make_uuid();
    row.job_key += " again";
    REQUIRE(store.add(row));
  }
  CHECK(text_of(path, "SELECT count(*) || '' FROM variant") == "6");
  CHECK(store.verify().empty());
}

TEST_CASE("an older file whose rows no newer table takes is damaged, no defect of ours",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), newer = folder.file("newer.sqlite");
  {
    store::Store store = store::Store::open(newer);
    REQUIRE(store.add(test::some_measurement(store.open_run(test::some_request()).run().id, 1)));
  }
  make_older(newer, path, 11);
  test::tamper(path,
               "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, "
               "'context_len  INTEGER NOT NULL', 'context_len  INTEGER') "
               "WHERE name = 'problem'");
  test::tamper(path, "UPDATE problem SET context_len = NULL");
  CHECK_THROWS_AS(store::Store::open(path), InputError);
}
