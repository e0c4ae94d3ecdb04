// kill -9 of a whole sweep, at random instants: what the worker had answered is in the database.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

// What times decide is off: noisy visits are not measured again, and no lengths are added, so that
// two sweeps have as many rows.
constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "killed", "stages": ["attend_selected"],
  "policy": {"samples": 1, "processes": 2, "min_rounds": 4, "max_rounds": 4, "cold": false,
             "visit_target_s": 0.01, "give_up_ratio": 1000, "noise_gate": false, "refine": false},
  "families": [{"name": "killed", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [40, 48, 56, 64]}}]})";

/// A worker whose answers stand in the file `answers` before the sweep sees them.
const std::string kWorker =
    "'" NSA_FAKE_WORKER
    "' fine 2 | while IFS= read -r l; do printf \"%s\\n\" \"$l\" >>answers; printf \"%s\\n\" "
    "\"$l\"; done";

pid_t start_sweep(const Folder& folder) {
  return fork_child([&] {
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
    if (chdir(folder.path().c_str()) != 0) return 98;
    execl(NSATUNE_PROGRAM, NSATUNE_PROGRAM, "sweep", "spec.json", "--worker", kWorker.c_str(),
          static_cast<char*>(nullptr));
    return 98;
  });
}

/// Measurements that the worker answered.
std::int64_t answered(const Folder& folder) {
  if (!std::filesystem::exists(folder.file("answers"))) return 0;
  const std::string text = read_text_file(folder.file("answers"));
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = text.find(R"("type":"measured")", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

std::vector<Measurement> stored(const Folder& folder) {
  if (!std::filesystem::exists(folder.file("results.sqlite"))) return {};
  const store::Store store = store::Store::open(folder.file("results.sqlite"));
  REQUIRE(store.verify().empty());
  REQUIRE(store.runs().size() <= 1);  // each sweep went on where the one before it was killed
  return store.measurements({});
}

/// A sweep can be killed between the end of its run and its own.
bool has_ended(const Folder& folder) {
  if (!std::filesystem::exists(folder.file("results.sqlite"))) return false;
  const auto runs = store::Store::open(folder.file("results.sqlite")).runs();
  return !runs.empty() && runs[0].state != RunState::open;
}

/// Kills a sweep at an instant within a fifth of a second: of its start, or of its next answer.
/// False when it had ended by then.
bool kill_one(const Folder& folder, bool at_work, std::mt19937& random) {
  const std::int64_t before = answered(folder);
  const pid_t sweep = start_sweep(folder);
  const auto ended = [&] { return waitpid(sweep, nullptr, WNOHANG) == sweep; };
  while (at_work && answered(folder) == before) {
    if (ended()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 200000));
  if (ended()) return false;
  kill(sweep, SIGKILL);
  return wait_for(sweep) == 1000 + SIGKILL;
}

/// Sweeps of one spec until one of them ends; how many were killed on the way.
int kill_until_complete(const Folder& folder, std::size_t rows_of_all, int most,
                        std::mt19937& random) {
  int kills = 0;
  std::size_t before = 0;
  while (kills < most && !has_ended(folder) && kill_one(folder, random() % 4 != 0, random)) {
    ++kills;
    const auto rows = stored(folder);
    INFO("kill " << kills << ": " << answered(folder) << " answered, " << rows.size() << " stored");
    REQUIRE(rows.size() >= before);
    REQUIRE(answered(folder) - static_cast<std::int64_t>(rows.size()) <= kills);
    before = rows.size();
  }
  if (!has_ended(folder)) REQUIRE(wait_for(start_sweep(folder)) == 0);
  const auto rows = stored(folder);
  std::set<std::pair<std::string, bool>> jobs;
  for (const Measurement& row : rows) jobs.emplace(row.job_key, row.control);
  CHECK(jobs.size() == rows.size());
  CHECK(rows.size() == rows_of_all);
  CHECK(answered(folder) - static_cast<std::int64_t>(rows.size()) <= kills);
  return kills;
}

void check_kills(int count) {
  const Folder undisturbed;
  undisturbed.write("spec.json", kSpec);
  REQUIRE(wait_for(start_sweep(undisturbed)) == 0);
  const std::size_t rows = stored(undisturbed).size();
  REQUIRE(rows > 50);
  REQUIRE(static_cast<std::size_t>(answered(undisturbed)) == rows);
  std::mt19937 random(5);
  while (count > 0) {
    const Folder folder;
    folder.write("spec.json", kSpec);
    count -= std::max(1, kill_until_complete(folder, rows, count, random));
  }
}

}  // namespace

TEST_CASE("kill -9 of a sweep costs the measurement in flight, and none is made twice", "[cli]") {
  check_kills(20);
}

TEST_CASE("the same for 200 kills", "[.long]") { check_kills(200); }

}  // namespace nsa::test
