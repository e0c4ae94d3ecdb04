#include <fstream>
#include <functional>

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include "catch.hpp"
#include "file/migrate.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

void run_sql(const std::string& path, const std::string& sql) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(sql);
}

/// A database of ours with one row in it, closed.
void make_database(const std::string& path) {
  Store store = Store::open(path);
  const auto run = store.open_run(test::some_request());
  for (int i = 0; i < 20; ++i) store.add(test::some_measurement(run.run().id, i));
}

/// Both ways to open refuse with one line that names the path and `words`, and write nothing.
void check_refused(const test::TempFolder& folder, const std::string& path,
                   const std::string& words) {
  const std::string names = test::names_in(folder.path());
  const std::string bytes = test::bytes_of(path);
  for (const bool existing : {false, true}) {
    const std::string message = test::message_of<InputError>(
        [&] { existing ? Store::open_existing(path) : Store::open(path); });
    INFO("message: " << message);
    CHECK(message.rfind(path + ": ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(test::names_in(folder.path()) == names);
  CHECK(test::bytes_of(path) == bytes);
}

}  // namespace

TEST_CASE("a new database is in WAL mode, complete and empty", "[store]") {
  const test::TempFolder folder;
  const Store store = Store::open(folder.file("a.sqlite"));
  const store::Info info = store.info();
  CHECK(info.journal_mode == "wal");
  CHECK(info.schema_version == store::newest_version());
  CHECK(info.runs == 0);
  CHECK(info.bytes > 0);
  CHECK(store.notes().empty());
  CHECK(store.verify().empty());
}

TEST_CASE("names that SQLite treats as special are plain files", "[store]") {
  const test::TempFolder folder;
  const std::string here = std::filesystem::current_path().string();
  std::filesystem::current_path(folder.path());
  for (const char* name : {":memory:", "file:a?mode=memory", "100%#.sqlite"}) {
    make_database(name);
    CHECK(Store::open_existing(name).info().measurements == 20);
    CHECK(std::filesystem::exists(name));
  }
  std::filesystem::current_path(here);
}

TEST_CASE("a link that leads nowhere but to itself is refused", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  std::filesystem::create_symlink("a.sqlite", path);
  for (const bool existing : {false, true}) {
    CHECK_THROWS_AS(existing ? Store::open_existing(path) : Store::open(path), InputError);
  }
}

TEST_CASE("a link to a database is followed, and one to nothing creates no file", "[store]") {
  const test::TempFolder folder;
  const std::string link = folder.file("link.sqlite"), target = folder.file("target.sqlite");
  std::filesystem::create_symlink(target, link);
  for (const bool existing : {false, true}) {
    CHECK(test::message_of<InputError>([&] {
            existing ? Store::open_existing(link) : Store::open(link);
          }).find("is a symbolic link to a file that does not exist") != std::string::npos);
  }
  CHECK(test::names_in(folder.path()) == "link.sqlite");
  make_database(target);
  CHECK(Store::open(link).info().measurements == 20);
}

TEST_CASE("an empty file becomes a database", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  test::write_bytes(path, "");
  CHECK(test::message_of<InputError>([&] { Store::open_existing(path); }).find("is empty") !=
        std::string::npos);
  make_database(path);
  REQUIRE(Store::open_existing(path).info().measurements == 20);
}

TEST_CASE("what is no database is refused and left as it was", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  SECTION("text") { test::write_bytes(path, "{\"this\": \"is JSON, and long enough\"}"); }
  SECTION("one byte") { test::write_bytes(path, "S"); }
  SECTION("zeros") { test::write_bytes(path, std::string(8192, '\0')); }
  SECTION("half a magic number") { test::write_bytes(path, "SQLite for"); }
  check_refused(folder, path, "not a results database");
}

TEST_CASE("a folder, a pipe and a missing folder are refused", "[store]") {
  const test::TempFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto message = [](const std::string& path) {
    return test::message_of<InputError>([&] { Store::open(path); });
  };
  CHECK(message(folder.path().string()).find("not a regular file") != std::string::npos);
  CHECK(message(pipe).find("not a regular file") != std::string::npos);
  CHECK(message(folder.file("none/a.sqlite")).find("does not exist") != std::string::npos);
  CHECK(message("").find("empty") != std::string::npos);
  CHECK(test::message_of<InputError>([&] {
          Store::open_existing(folder.file("none"));
        }).find("does not exist") != std::string::npos);
  CHECK(test::names_in(folder.path()) == "pipe");
}

TEST_CASE("a truncated database is refused and left as it was", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  std::filesystem::remove(path + "-lock");
  const std::string whole = test::bytes_of(path);
  for (const std::size_t length :
       {std::size_t{100}, std::size_t{4096}, std::size_t{5000}, whole.size() / 2}) {
    INFO("cut to " << length << " of " << whole.size());
    test::write_bytes(path, whole.substr(0, length));
    check_refused(folder, path, "damaged");
  }
}

TEST_CASE("a database of another program is refused and left as it was", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  SECTION("with tables") { run_sql(path, "CREATE TABLE notes (text)"); }
  SECTION("marked") { run_sql(path, "PRAGMA application_id = 77; CREATE TABLE notes (text)"); }
  SECTION("versioned") { run_sql(path, "PRAGMA user_version = 1; CREATE TABLE run (id)"); }
  check_refused(folder, path, "another program");
}

TEST_CASE("a database from a newer version is refused and left as it was", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  const int newest = store::newest_version();
  run_sql(path, ("PRAGMA user_version = " + std::to_string(newest + 1)).c_str());
  std::filesystem::remove(path + "-lock");
  check_refused(folder, path,
                "schema version " + std::to_string(newest + 1) + ", this program knows " +
                    std::to_string(newest) + " at most");
}

TEST_CASE("a database whose schema was tampered with is refused and left as it was", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  std::string words;
  SECTION("trigger") {
    run_sql(path, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM measurement; END");
    words = "trigger";
  }
  SECTION("table replaced by a view") {
    run_sql(path, "DROP TABLE telemetry; CREATE VIEW telemetry AS SELECT 1 AS id");
    words = "telemetry";
  }
  SECTION("column gone") {
    run_sql(path, "ALTER TABLE device DROP COLUMN runtime");
    words = "device";
  }
  std::filesystem::remove(path + "-lock");
  check_refused(folder, path, words);
}

TEST_CASE("a header that was damaged is the file's fault, not ours", "[store]") {
  const test::TempFolder folder;
  const std::string version = folder.file("version.sqlite"), format = folder.file("format.sqlite");
  make_database(version);
  run_sql(version, "PRAGMA user_version = 1");
  make_database(format);
  {
    std::fstream file(format, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(47);  // the last byte of the schema's format number
    file.put('\x44');
  }
  for (const std::string& path : {version, format}) {
    const std::string message = test::message_of<InputError>([&] { Store::open_existing(path); });
    INFO(message);
    CHECK(message.rfind(path + ": ", 0) == 0);
    CHECK(message.find("damaged") != std::string::npos);
  }
}

TEST_CASE("views, indices and tables that a user added do not matter", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  run_sql(path,
          "CREATE VIEW mine AS SELECT id FROM run; CREATE INDEX i ON run (build_id); "
          "CREATE TABLE notes (text)");
  REQUIRE(Store::open(path).info().measurements == 20);
}

TEST_CASE("a database that another program keeps locked costs the timeout, then an error",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  Store store = Store::open(path, {.busy_timeout_s = 0.05, .vfs = ""});
  const std::string run_id = store.runs().at(0).id;
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const std::string message =
      test::message_of<EnvironmentError>([&] { store.add(test::some_measurement(run_id, 100)); });
  INFO("message: " << message);
  CHECK(message.rfind(path + ": ", 0) == 0);
  CHECK(message.find("locked") != std::string::npos);
  CHECK(store.info().measurements == 20);  // WAL: readers do not wait for a writer
  other.exec("ROLLBACK");
  CHECK(store.add(test::some_measurement(run_id, 100)));
}

TEST_CASE("who waits for a locked database is asked, and may give up", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path);
  double longest_s = 0;
  bool keep_waiting = true;
  store::OpenOptions options;
  options.keep_waiting = [&](double waited_s) {
    longest_s = std::max(longest_s, waited_s);
    return keep_waiting && waited_s < 0.2;
  };
  SQLite::Database other(path, SQLite::OPEN_READWRITE);
  const auto refused = [&](const std::function<void()>& action) {
    return test::message_of<EnvironmentError>(action).find("locked") != std::string::npos;
  };
  {
    Store store = Store::open(path, options);
    const std::string run_id = store.runs().at(0).id;
    other.exec("BEGIN IMMEDIATE");
    CHECK(refused([&] { store.add(test::some_measurement(run_id, 100)); }));
    CHECK(longest_s >= 0.2);
    other.exec("COMMIT");
  }
  // Without a WAL a holder keeps readers out, too: already the opening waits.
  other.exec("PRAGMA journal_mode = DELETE");
  other.exec("BEGIN EXCLUSIVE");
  keep_waiting = false;
  CHECK(refused([&] { Store::open(path, options); }));
}

TEST_CASE("a link or a pipe in place of the lock file is refused and not followed", "[store]") {
  const test::TempFolder folder;
  const std::string lock = folder.file("r.sqlite-lock");
  REQUIRE(symlink(folder.file("target").c_str(), lock.c_str()) == 0);
  const auto open = [&] { store::Store::open(folder.file("r.sqlite")); };
  CHECK(test::message_of<EnvironmentError>(open).find("is a symbolic link") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("target")));
  unlink(lock.c_str());
  REQUIRE(mkfifo(lock.c_str(), 0600) == 0);
  CHECK(test::message_of<EnvironmentError>(open).find("is not a regular file") !=
        std::string::npos);
}
