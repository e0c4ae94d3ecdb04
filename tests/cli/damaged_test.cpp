// Files that are cut, damaged or something else: one line and exit 2, never a crash, nothing
// written.
#include <sqlite3.h>

#include <random>

#include "catch.hpp"
#include "played_rows.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "small", "stages": ["ranges"],
  "policy": {"samples": 1, "processes": 1, "min_rounds": 1, "max_rounds": 1, "cold": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 96]}}]})";

std::string shipped_text() {
  return read_text_file(NSA_SOURCE_DIR "/kernels/tuned/nvidia_h200.json");
}

std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// One line that names the file, and exit 2.
void check_refused(const Folder& folder, const std::string& command, const std::string& name) {
  const Result r = nsatune(folder, command);
  INFO(command << "\n" << r.err);
  CHECK(r.exit_code == 2);
  CHECK(lines_of(r.err) == 1);
  CHECK(r.err.find(name) != std::string::npos);
  CHECK(r.out.empty());
}

void execute(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  const bool done = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                    sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  CAPTURE(sqlite3_errmsg(db));
  CHECK(done);
  sqlite3_close(db);
}

/// A few bytes overwritten, left out or doubled.
std::string damaged(std::string text, std::mt19937_64& random) {
  for (std::uint64_t change = random() % 3 + 1; change > 0; --change) {
    const std::size_t at = random() % text.size();
    if (random() % 3 == 0) text.erase(at, random() % 30);
    if (random() % 3 == 0) text.insert(at, text.substr(random() % text.size(), random() % 30));
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random() % 256);
  }
  return text;
}

/// The database of a small sweep, as bytes. It is played: what is left of a damaged one is decided
/// the same under load.
const std::string& database() {
  static const std::string bytes = [] {
    const Folder folder;
    constexpr int kLongBefore = 8;  // the shortest length: one variant wins by far
    add_played_rows(folder, kSpec, {world_of("ranges", "ranges_v1", "ranges_v2", kLongBefore)});
    return read_text_file(folder.file("results.sqlite"));
  }();
  return bytes;
}

}  // namespace

TEST_CASE("no name in a database, nor its own, acts on the terminal", "[cli]") {
  const Folder folder;
  const std::string name = "h\x1b[31mx.sqlite";
  folder.write(name, database());
  const std::string db = " --db \"$(printf 'h\\033[31mx').sqlite\"";
  for (const char* command : {"db info", "db verify", "db prune --keep-days 0"}) {
    const Result r = nsatune(folder, command + db);
    INFO(command << "\n" << r.err);
    CHECK(r.exit_code == 0);
    CHECK(r.out.find('\x1b') == std::string::npos);
  }
  execute(folder.file(name),
          "CREATE TABLE \"a\x1b[2J\" (id INTEGER PRIMARY KEY);"
          "CREATE TABLE \"b\x1b[2J\" (a INTEGER REFERENCES \"a\x1b[2J\" (id));"
          "INSERT INTO \"b\x1b[2J\" VALUES (1)");
  const Result r = nsatune(folder, "db verify" + db);
  CHECK(r.exit_code == 1);
  CHECK(r.out.find("a row of b\\x1b[2J names a missing a\\x1b[2J") != std::string::npos);
  CHECK(r.out.find('\x1b') == std::string::npos);
}

TEST_CASE("a thresholds file that is cut anywhere is refused", "[cli]") {
  const Folder folder;
  const std::string whole = shipped_text();
  const std::size_t last = whole.rfind('}');
  constexpr std::size_t kCuts = 60;
  for (std::size_t i = 0; i <= kCuts; ++i) {
    folder.write("cut.json", whole.substr(0, last * i / kCuts));
    check_refused(folder, "explain cut.json --seq-len 100", "cut.json");
  }
  for (const char* option : {"--shipped", "--against"}) {
    folder.write("results.sqlite", database());
    check_refused(folder, std::string("tune -o t.json ") + option + " cut.json", "cut.json");
    CHECK_FALSE(std::filesystem::exists(folder.file("t.json")));
  }
}

TEST_CASE("a damaged thresholds file is explained or refused, and ends no program", "[cli]") {
  const Folder folder;
  const std::string whole = shipped_text();
  std::mt19937_64 random(24);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    folder.write("bad.json", damaged(whole, random));
    const Result r = nsatune(folder, "explain bad.json --seq-len 100 --json");
    INFO("mutant " << i << ": " << r.err);
    REQUIRE((r.exit_code == 0 || r.exit_code == 2 || r.exit_code == 3));
    if (r.exit_code == 0) json_of(r, "explain");
    if (r.exit_code == 2) CHECK(lines_of(r.err) == 1);
    refused += r.exit_code == 2;
  }
  CHECK(refused > 50);
}

TEST_CASE("a spec that is cut or damaged is refused before a database is made", "[cli]") {
  const Folder folder;
  const std::string whole = kSpec;
  for (std::size_t cut = 0; cut < whole.size(); cut += whole.size() / 40) {
    folder.write("cut.json", whole.substr(0, cut));
    check_refused(folder, "sweep cut.json", "cut.json");
  }
  for (const char* name : {"thresholds.json", "folder.json", "missing.json", "results.json"}) {
    folder.write("thresholds.json", shipped_text());
    folder.write("results.json", database());
    std::filesystem::create_directories(folder.file("folder.json"));
    check_refused(folder, std::string("sweep ") + name, name);
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

TEST_CASE("a database that is cut or damaged ends no program and gives no file", "[cli]") {
  const Folder folder;
  std::mt19937_64 random(25);
  const std::string& whole = database();
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole.substr(0, whole.size() * static_cast<std::size_t>(i) / 60);
    if (i % 2 == 0) {
      bytes = whole;
      for (int change = 0; change < 20; ++change)
        bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    folder.write("bad.sqlite", bytes);
    for (const char* command : {"tune -o t.json", "db info", "export"}) {
      const Result r = nsatune(folder, std::string(command) + " --db bad.sqlite");
      INFO(i << ": " << command << ": " << r.err);
      REQUIRE((r.exit_code == 0 || r.exit_code == 2 || r.exit_code == 3));
      if (r.exit_code == 2) CHECK(lines_of(r.err) == 1);
      CHECK(bool(std::filesystem::exists(folder.file("t.json")) && r.exit_code != 0) == false);
      if (i % 2 == 1) CHECK(r.exit_code == 2);
    }
    std::filesystem::remove(folder.file("t.json"));
  }
}

}  // namespace nsa::test
