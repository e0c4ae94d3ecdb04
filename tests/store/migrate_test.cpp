#include "migrate.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
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
  const std::string path = folder.file("a.sqlite");
  LaunchTraceRow trace;
  LaunchCountersRow counters;
  trace.id = "t";
  counters.id = "c";
  {
    store::Store store = store::Store::open(path);
    trace.run_id = counters.run_id = store.open_run(test::some_request()).run().id;
    REQUIRE(store.add(trace));
  }
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    db.exec(
        "DROP VIEW launch_counters_summary; DROP TABLE launch_counter_metric; "
        "DROP TABLE launch_counters; PRAGMA user_version = 2");
  }
  store::Store store = store::Store::open(path);
  CHECK(store.info().schema_version == store::newest_version());
  CHECK(store.launch_traces({}) == std::vector<LaunchTraceRow>{trace});
  CHECK(store.launch_counters({}).empty());
  CHECK(store.add(counters));
  CHECK(store.launch_counters({}) == std::vector<LaunchCountersRow>{counters});
  CHECK(store.verify().empty());
}
