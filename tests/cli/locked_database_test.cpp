// Commands that write, while another process holds the database.
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "catch.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "one", "policy": {"samples": 1, "processes": 1, "min_rounds": 1,
  "max_rounds": 1, "cold": false, "deadline_s": 3, "refine": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"}, "axes": {}}]})";
constexpr const char* kWorld = R"({"schema_version": 1, "seed": 5, "executor": "sim",
  "stages": ["attend_selected"], "variants": [{"name": "line",
  "time": {"launch_ns": 10000, "terms": [{"ns": 100, "order": 1}]}}]})";

/// A folder whose a.sqlite this process has locked, as a backup or an open shell does.
class Locked {
 public:
  /// As a writer, beside which others may read, or as one that keeps everybody out.
  enum class How : bool { writes, alone };
  explicit Locked(How how = How::writes) {
    folder.write("spec.json", kSpec);
    folder.write("world.json", kWorld);
    store::Store::open(folder.file("a.sqlite"));
    REQUIRE(sqlite3_open(folder.file("a.sqlite").c_str(), &db_) == SQLITE_OK);
    if (how == How::alone) run("PRAGMA locking_mode = EXCLUSIVE");
    run("BEGIN EXCLUSIVE");
  }
  ~Locked() { leave(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  void leave() {
    sqlite3_close(db_);
    db_ = nullptr;
  }
  Result sweep(const std::string& flags, const std::string& before = "") {
    return nsatune(folder,
                   "sweep spec.json --db a.sqlite --worker '" NSATUNE_PROGRAM
                   " worker-sim world.json' " +
                       flags,
                   before);
  }
  /// Leaves the database `seconds` after the command says that it waits, or after a minute.
  Result wait_behind(const std::function<Result()>& command, int seconds = 0) {
    Result result;
    std::thread waiting([&] { result = command(); });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(50);
    while (!says("waiting: ") && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    leave();
    waiting.join();
    return result;
  }

  Folder folder;

 private:
  void run(const char* sql) {
    REQUIRE(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  bool says(const std::string& text) const {
    const std::string file = folder.file("stderr");
    return std::filesystem::exists(file) && contains(read_text_file(file), text);
  }

  sqlite3* db_ = nullptr;
};

const std::string kWaiting =
    "waiting: process " + std::to_string(getpid()) + " (";  // this process, which holds it

}  // namespace

TEST_CASE("a sweep names who holds its database, and waits at no cost to its budget", "[cli]") {
  Locked held;
  constexpr int kBudgetS = 6;
  const Result result = held.wait_behind(
      [&] { return held.sweep("--json --budget " + std::to_string(kBudgetS) + "s"); }, kBudgetS);
  INFO(result.err);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, ") holds a.sqlite; for at most 60 s\n"));
  REQUIRE(result.exit_code == 0);
  const Json done = json_of(result, "sweep_result");
  CHECK(done["rows_added"] > 0);
  CHECK(done["time_breakdown"]["wait_s"] > kBudgetS);
}

TEST_CASE("run names who holds its database, and keeps its result afterwards", "[cli]") {
  Locked held;
  const Result result = held.wait_behind([&] {
    return nsatune(held.folder,
                   "run --preset tiny --layers 1 --seq-len 64 --steps 1 --no-thresholds --share "
                   "--db a.sqlite");
  });
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, ") holds a.sqlite; for at most 60 s\n"));
  CHECK(store::Store::open_existing(held.folder.file("a.sqlite")).run_results().size() == 1);
}

TEST_CASE("db merge says who holds the database that takes it all", "[cli]") {
  Locked held;
  store::Store::open(held.folder.file("b.sqlite"));
  const Result result = held.wait_behind(
      [&] { return nsatune(held.folder, "db merge b.sqlite --db a.sqlite --json"); });
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, ") holds a.sqlite; "));
}

TEST_CASE("db merge says who holds a database that it reads, and for how long it waits", "[cli]") {
  Locked held(Locked::How::alone);
  const Result result =
      held.wait_behind([&] { return nsatune(held.folder, "db merge a.sqlite --db b.sqlite"); });
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, ") holds a.sqlite; for at most 10 s\n"));
}

TEST_CASE("doctor says who holds a database, whichever way it was given", "[cli]") {
  for (const std::string arguments : {"doctor a.sqlite", "doctor --db a.sqlite"}) {
    INFO(arguments);
    Locked held(Locked::How::alone);
    const Result result = held.wait_behind([&] { return nsatune(held.folder, arguments); });
    INFO(result.err);
    CHECK(result.exit_code == 3);
    CHECK(contains(result.err, kWaiting));
    CHECK(contains(result.err, ") holds a.sqlite; "));
  }
}

TEST_CASE("a command that reads says for whom it waits, too", "[cli]") {
  Locked held(Locked::How::alone);
  const Result result =
      held.wait_behind([&] { return nsatune(held.folder, "db info --db a.sqlite"); });
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.err, kWaiting));
}

TEST_CASE("Ctrl-C ends a sweep that waits for its database", "[cli]") {
  Locked held;
  const Result result = held.sweep("", "timeout --preserve-status -s INT 15");
  INFO(result.err);
  CHECK(result.exit_code == 130);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, "sweep: stopped; rerun the same command to resume\n"));
}

TEST_CASE("a database that stays locked is one line and exit 4, and nothing of it is lost",
          "[.long]") {
  Locked held;
  const Result result = held.sweep("--budget 5s");
  INFO(result.err);
  CHECK(result.exit_code == 4);
  CHECK(contains(result.err, kWaiting));
  CHECK(contains(result.err, "nsatune: a.sqlite: database is locked"));
  CHECK(contains(result.err, "another process holds it"));
  CHECK_FALSE(contains(result.err, "budget"));
  held.leave();
  CHECK(held.sweep("").exit_code == 0);
}

}  // namespace nsa::test
