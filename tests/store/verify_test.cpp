#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

void make_database(const std::string& path, int rows) {
  Store store = Store::open(path);
  const auto run = store.open_run(test::some_request());
  for (int i = 0; i < rows; ++i) store.add(test::some_measurement(run.run().id, i));
}

/// Damage as another program could do it: no foreign keys, no CHECK constraints.
void damage(const std::string& path, const std::string& sql) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  db.exec(sql);
}

std::string all(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += line + "\n";
  return joined;
}

}  // namespace

TEST_CASE("verify finds each kind of damage and names it", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path, 3);
  REQUIRE(Store::open_existing(path).verify().empty());
  const std::pair<const char*, const char*> damages[] = {
      {"UPDATE measurement SET samples = x'0100' WHERE job_key = 'job-1'", "samples"},
      {"UPDATE measurement SET samples_n = 9 WHERE job_key = 'job-1'", "samples_n is 9"},
      {"UPDATE measurement SET outcome = 'fine' WHERE job_key = 'job-1'", "'fine'"},
      {"UPDATE measurement SET problem_id = 'none' WHERE job_key = 'job-1'", "problem"},
      {"UPDATE measurement SET placement_id = 'none' WHERE job_key = 'job-1'", "placement"},
      {"DELETE FROM run", "missing run"},
      {"UPDATE problem SET kv_heads = 0", "kv_heads"},
      {"UPDATE problem SET seq_lens = '[1e9999]'", "problem"},
      {"UPDATE problem SET seq_lens = '{'", "JSON"},
      {"UPDATE variant SET point = '[1]'", "point"},
      {"UPDATE run SET state = 'lost'", "'lost'"},
  };
  for (const auto& [sql, words] : damages) {
    const std::string copy = folder.file("copy.sqlite");
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    damage(copy, sql);
    const auto problems = Store::open_existing(copy).verify();
    INFO(sql << " gave: " << all(problems));
    CHECK(all(problems).find(words) != std::string::npos);
  }
}

TEST_CASE("reading a damaged row is bad input, not a crash", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path, 3);
  damage(path, "UPDATE measurement SET samples = x'02' WHERE job_key = 'job-1'");
  const Store store = Store::open_existing(path);
  CHECK(store.measurements({}).size() == 3);  // samples were not asked for
  store::Query query;
  query.with_samples = true;
  const std::string message =
      test::message_of<InputError>([&] { (void)store.measurements(query); });
  CHECK(message.rfind(path + ": measurement ", 0) == 0);
}

TEST_CASE("whatever bytes of the file are changed, reading gives rows or an error of ours",
          "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path, 30);
  const std::string whole = test::bytes_of(path);
  std::uint64_t state = 1;
  int refused = 0;
  for (int k = 0; k < 300; ++k) {
    std::string bytes = whole;
    for (int b = 0; b < 8; ++b) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 25);
    }
    const std::string copy = folder.file("copy.sqlite");
    test::write_bytes(copy, bytes);
    try {
      const Store store = Store::open_existing(copy, {.busy_timeout_s = 1, .vfs = ""});
      store::Query query;
      query.with_samples = true;
      (void)store.verify();
      (void)store.runs();
      (void)store.measurements(query);
    } catch (const InputError&) {
      ++refused;
    } catch (const EnvironmentError&) {
      ++refused;
    }
    REQUIRE(test::bytes_of(copy) == bytes);
  }
  CHECK(refused > 0);
}

TEST_CASE("compact gives the pages of deleted rows back and keeps the others", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  make_database(path, 2000);
  damage(path, "DELETE FROM measurement WHERE job_key <> 'job-7'");
  const auto before = std::filesystem::file_size(path);
  Store store = Store::open_existing(path);
  store.compact();
  CHECK(std::filesystem::file_size(path) < before / 2);
  CHECK(store.measurements({}).at(0).job_key == "job-7");
  CHECK(store.verify().empty());
}
