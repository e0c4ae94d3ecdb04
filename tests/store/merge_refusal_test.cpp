// What cannot be merged is refused with one line, and nothing is written.
#include <csignal>

#include <fmt/core.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catch.hpp"
#include "file/migrate.hpp"
#include "merge_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/store/merge.hpp"

using namespace nsa;
using nsa::store::merge;
using nsa::store::Store;

namespace {

constexpr auto kOver = std::filesystem::copy_options::overwrite_existing;

/// Merging `files` is refused with one line that begins with `name` and holds `words`, whether the
/// result is new or there; nothing is changed but the files that SQLite keeps beside a database.
template <class Error = InputError>
void check_refused(const test::TempFolder& folder, const std::vector<std::string>& files,
                   const std::string& name, const std::string& words) {
  const std::string there = folder.file("there.sqlite");
  std::filesystem::remove(there);
  test::make_fleet(there, 1);
  const std::string names = test::names_in(folder.path()), content = test::content_of(there);
  for (const std::string& out : {folder.file("new.sqlite"), there}) {
    const std::string message =
        test::message_of<Error>([&] { merge(files, out, {.busy_timeout_s = 0.1, .vfs = ""}); });
    INFO("message: " << message);
    CHECK(message.rfind(name + ": ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.find(".nsatune-merge") == std::string::npos);
    CHECK(test::names_in(folder.path()) == names);
    CHECK(test::content_of(there) == content);
  }
}

}  // namespace

TEST_CASE("files that contradict each other are not merged, in either order", "[store]") {
  const test::TempFolder folder;
  const std::string a = folder.file("a.sqlite"), b = folder.file("b.sqlite");
  test::make_fleet(a, 2);
  for (const char* sql :
       {"UPDATE measurement SET median_ns = median_ns + 1 WHERE job_key = 'job-3'",
        "UPDATE measurement SET note = 'edited' WHERE job_key = 'job-3'",
        "UPDATE run SET build_id = 'another'", "UPDATE environment_fact SET value = 'another'",
        "DELETE FROM environment_fact WHERE key = 'driver'", "DELETE FROM device",
        "UPDATE device SET power_limit_w = 300", "UPDATE problem SET kv_heads = 1",
        "UPDATE variant SET name = 'another'", "UPDATE placement SET host = 'another'",
        "INSERT INTO placement SELECT id, 1, host, device_uuid FROM placement",
        "UPDATE launch_trace SET note = 'edited'", "UPDATE launch_trace_kernel SET count = 9",
        "DELETE FROM launch_trace_kernel WHERE position = 1",
        "UPDATE launch_counters SET chip = 'another'",
        "UPDATE launch_counter_metric SET value = 9 WHERE position = 1",
        "UPDATE telemetry SET command = 'another'"}) {
    INFO(sql);
    std::filesystem::copy_file(a, b, kOver);
    test::tamper(b, sql);
    check_refused(folder, {a, b}, b, "was changed after it was written");
    check_refused(folder, {b, a}, a, "was changed after it was written");
  }
}

TEST_CASE("a result that contradicts a file keeps what it has", "[store]") {
  const test::TempFolder folder;
  const std::string a = folder.file("a.sqlite"), out = folder.file("out.sqlite");
  test::make_fleet(a, 1);
  std::filesystem::copy_file(a, out);
  test::tamper(out, "UPDATE telemetry SET command = 'another'");
  const std::string content = test::content_of(out);
  const std::string b = folder.file("b.sqlite");
  test::make_fleet(b, 1);
  CHECK(test::message_of<InputError>([&] { merge({b, a}, out); }).rfind(out + ": ", 0) == 0);
  CHECK(test::content_of(out) == content);
}

TEST_CASE("a run that went on in two copies of a database is not merged", "[store]") {
  const test::TempFolder folder;
  const std::string a = folder.file("a.sqlite"), b = folder.file("b.sqlite");
  test::make_fleet(a, 1);
  std::filesystem::copy_file(a, b);
  for (const std::string& path : {a, b}) {
    Store store = Store::open(path);
    store.add(test::some_measurement(store.runs().at(0).id, 99));
  }
  check_refused(folder, {a, b}, b, "went on");
  check_refused(folder, {b, a}, a, "went on");
}

TEST_CASE("what is no database to merge is refused before anything is written", "[store]") {
  const test::TempFolder folder;
  const std::string good = folder.file("good.sqlite"), bad = folder.file("bad.sqlite");
  test::make_fleet(good, 3);
  const std::string bytes = test::bytes_of(good);
  std::string words;
  SECTION("missing") { words = "does not exist"; }
  SECTION("a text") {
    test::write_bytes(bad, "id,median_ns\n");
    words = "no";
  }
  SECTION("a folder") {
    std::filesystem::create_directory(bad);
    words = "not a regular file";
  }
  SECTION("empty") {
    test::write_bytes(bad, "");
    words = "empty";
  }
  SECTION("of another program") {
    SQLite::Database db(bad, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("CREATE TABLE run (id)");
    words = "another program";
  }
  SECTION("newer") {
    std::filesystem::copy_file(good, bad);
    test::tamper(bad, fmt::format("PRAGMA user_version = {}", store::newest_version() + 1));
    words = "version";
  }
  SECTION("an old one with other tables") {
    SQLite::Database db(bad, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = 1; CREATE TABLE run (id)",
                    store::kApplicationId));
    words = "damaged";
  }
  SECTION("with a trigger") {
    std::filesystem::copy_file(good, bad);
    test::tamper(bad, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END");
    words = "trigger";
  }
  SECTION("with a row that no reader takes") {
    std::filesystem::copy_file(good, bad);
    test::tamper(bad, "UPDATE measurement SET samples = x'0100' WHERE job_key = 'job-1'");
    words = "samples";
  }
  SECTION("cut") {
    test::write_bytes(bad, bytes.substr(0, bytes.size() / 2));
    words = "damaged";
  }
  SECTION("overwritten") {
    std::string damaged = bytes;
    for (std::size_t i = 3; i + 1 < bytes.size() / 4096; i += 3)
      damaged.replace(4096 * i, 2000, 2000, 'x');
    test::write_bytes(bad, damaged);
    words = "damaged";
  }
  check_refused(folder, {good, bad}, bad, words);
  check_refused(folder, {bad, good}, bad, words);
  CHECK((test::bytes_of(good) == bytes));  // without a print of them
}

TEST_CASE("a file that another process holds is refused after a while", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  test::make_fleet(path, 1);
  test::tamper(path, "PRAGMA journal_mode = DELETE");
  SQLite::Database holder(path, SQLite::OPEN_READWRITE);
  holder.exec("BEGIN EXCLUSIVE");
  check_refused<EnvironmentError>(folder, {path}, path, "another process holds it");
}

TEST_CASE("a result that cannot be made is an environment error that leaves nothing", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite"), out = folder.file("out.sqlite");
  test::make_fleet(path, 30);
  const std::string names = test::names_in(folder.path());
  CHECK(test::run_in_child([&] {
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{400 * 1024, 400 * 1024};
          if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
          return test::message_of<EnvironmentError>([&] { merge({path}, out); }).empty() ? 1 : 0;
        }) == 0);
  CHECK(test::names_in(folder.path()) == names);
}
