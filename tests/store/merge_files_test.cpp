// What a merge does to files: the merged ones stay as they are, and the result is whole at any
// time.
#include <csignal>

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "catch.hpp"
#include "file/migrate.hpp"
#include "merge_support.hpp"
#include "nsa/store/merge.hpp"

using namespace nsa;
using nsa::store::merge;
using nsa::store::Store;

TEST_CASE("a file of an older version is merged and stays of that version", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("old.sqlite"), out = folder.file("out.sqlite");
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    store::migrate(db, path, store::migrations().first(1));
    db.exec(
        "INSERT INTO run VALUES ('r1', 'h', '{}', 'b', 'e', '2026-01-01T00:00:00.000Z', NULL, "
        "'open')");
  }
  const std::string bytes = test::bytes_of(path);
  CHECK(merge({path}, out).added.runs == 1);
  CHECK((test::bytes_of(path) == bytes));  // without a print of them
  CHECK(test::names_in(folder.path()) == "old.sqlite out.sqlite");
  CHECK(Store::open_existing(out).info().schema_version == store::newest_version());
}

TEST_CASE("rows that a killed writer left in its journal are merged from there", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), out = folder.file("out.sqlite");
  test::make_fleet(path, 1);
  CHECK(test::run_in_child([&] {
          Store store = Store::open(path);
          store.add(test::some_measurement(store.runs().at(0).id, 99));
          kill(getpid(), SIGKILL);
          return 0;
        }) == 1000 + SIGKILL);
  const std::string bytes = test::bytes_of(path), journal = test::bytes_of(path + "-wal");
  REQUIRE_FALSE(journal.empty());
  CHECK(merge({path}, out).added.measurements == 17);
  CHECK((test::bytes_of(path) == bytes));  // without a print of them
  CHECK((test::bytes_of(path + "-wal") == journal));
}

TEST_CASE("a merge that is killed leaves a whole result or none", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), out = folder.file("out.sqlite"),
                    there = folder.file("there.sqlite");
  test::make_fleet(path, 4);
  const std::string content = test::content_of(path);
  std::mt19937 random(11);
  std::uniform_int_distribution<int> instant_us(0, 60000);
  for (int k = 0; k < 40; ++k) {
    INFO("kill " << k);
    std::filesystem::remove(there);
    Store::open(there);
    const std::string empty = test::content_of(there);
    const pid_t child = test::fork_child([&] {
      merge({path}, out);
      merge({path}, there);
      return 0;
    });
    usleep(static_cast<useconds_t>(instant_us(random)));
    kill(child, SIGKILL);
    test::wait_for(child);
    if (std::filesystem::exists(out)) REQUIRE(test::content_of(out) == content);
    const std::string now = test::content_of(there);
    REQUIRE((now == empty || now == content));
    std::filesystem::remove(out);
  }
}

TEST_CASE("several processes that merge into one database at once lose nothing", "[store]") {
  const test::TempFolder folder;
  const std::string whole = folder.file("whole.sqlite"), out = folder.file("out.sqlite");
  test::make_fleet(whole, 3);
  std::mt19937 random(3);
  std::vector<pid_t> children;
  for (const std::string& part : test::split(folder, whole, 5, random)) {
    children.push_back(test::fork_child([&] {
      merge({part}, out);
      return 0;
    }));
  }
  for (const pid_t child : children) CHECK(test::wait_for(child) == 0);
  CHECK(test::content_of(out) == test::content_of(whole));
}
