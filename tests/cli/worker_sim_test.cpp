// worker-sim through the real program: sweep, tune, truth, and variants that misbehave.
#include <algorithm>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "played", "policy": {"samples": 1, "processes": 2, "min_rounds": 2,
  "max_rounds": 4, "cold": false, "deadline_s": 3, "verify_rows": 4,
  "refine": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 96, 128, 192, 256]}}]})";

/// Two straight lines that cross at 128 tokens, and more of the second variant and of the world.
std::string world(const std::string& of_variant = "", const std::string& more = "") {
  return R"({"schema_version": 1, "seed": 5, "executor": "sim", "stages": ["attend_selected"],
    "state": "world.state", "noise": {"white_sigma": 0.002}, "variants": [
    {"name": "line", "order": {"seq_len": 1},
     "time": {"launch_ns": 10000, "terms": [{"ns": 100, "order": 1}]}},
    {"name": "late", "time": {"relative_to": "line", "slope_percent": -10, "crossings": [128]})" +
         of_variant + "}]" + more + "}";
}

/// The document of a sweep of world.json in a new run. Nobody else's measuring is waited for: the
/// device is none.
Json swept(const Folder& folder, const std::string& db) {
  const std::string command = "sweep spec.json --json --new --db " + folder.file(db) +
                              " --worker '" NSATUNE_PROGRAM " worker-sim " +
                              folder.file("world.json") + "'";
  return json_of(nsatune(folder, command, "NSATUNE_LOCK_DIR=" + folder.path().string()),
                 "sweep_result");
}

/// Of the rows of a sweep: how often each outcome came.
std::map<std::string, int> outcomes(const Folder& folder) {
  const Json done = swept(folder, "a.sqlite");
  std::map<std::string, int> count;
  count["failures"] = done["failures"];
  count["unsupported"] = done["unsupported"];
  count["added"] = done["rows_added"];
  return count;
}

}  // namespace

TEST_CASE("a sweep counts apart what it left out as too slow", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  folder.write("world.json", world(R"(}, {"name": "quad", "order": {"seq_len": 2},
    "time": {"launch_ns": 10000, "terms": [{"ns": 100, "order": 2}]})"));
  const Json done = swept(folder, "a.sqlite");
  CHECK(done["too_slow"] > 0);
  CHECK(done["unsupported"] == 0);
  const Result again =
      nsatune(folder,
              "sweep spec.json --new --db b.sqlite --worker '" NSATUNE_PROGRAM " worker-sim " +
                  folder.file("world.json") + "'",
              "NSATUNE_LOCK_DIR=" + folder.path().string());
  INFO(again.err);
  CHECK(again.err.find(" left out as too slow, ") != std::string::npos);
}

TEST_CASE("a played world is swept and tuned, and the decision is the truth's", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  folder.write("world.json", world());
  const Json done = swept(folder, "a.sqlite");
  CHECK(done["complete"] == true);
  CHECK(done["failures"] == 0);
  const Result tuned = nsatune(
      folder, "tune --db " + folder.file("a.sqlite") + " --executor sim --unverified -o t.json");
  INFO(tuned.err);
  REQUIRE(tuned.exit_code == 0);
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  const auto& ranges = table.classes.at(0).decisions.at(0).ranges;
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].variant.name == "line");
  CHECK(ranges[1].variant.name == "late");
  CHECK(ranges[1].from > 120);
  CHECK(ranges[1].from < 137);
}

TEST_CASE("the marks of a sweep's table are what tune chooses, ties and all", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  folder.write("world.json", world());
  const Json done = swept(folder, "a.sqlite");
  const std::string db = " --db " + folder.file("a.sqlite");
  REQUIRE(nsatune(folder, "tune --executor sim --unverified -o t.json" + db).exit_code == 0);
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  const Decision& decision = table.classes.at(0).decisions.at(0);
  const auto chosen_at = [&](std::int64_t length) {
    std::string name;
    for (const ThresholdRange& range : decision.ranges)
      if (range.from <= length && (!range.to || length < *range.to))
        name = to_string(range.variant);
    return name;
  };
  std::map<std::int64_t, std::string> marked;
  for (const Json& row : done["results"])
    if (row["chosen"] == true) marked[row["problem"]["seq_lens"][0]] = row["variant"];
  CHECK(marked.size() == 5);
  for (const auto& [length, variant] : marked) {
    CAPTURE(length);
    CHECK(variant == chosen_at(length));
  }
  const Json again = json_of(nsatune(folder, "report results --json" + db), "report_results");
  CHECK(again["runs"][0]["results"] == done["results"]);
}

TEST_CASE("a sweep of a world can be repeated from the same state", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  folder.write("world.json", world(R"(, "process_sigma": 0.01)"));
  const auto medians = [&](const std::string& db) { return swept(folder, db)["results"].dump(); };
  const std::string first = medians("a.sqlite"), other = medians("b.sqlite");
  std::filesystem::remove(folder.file("world.state"));
  CHECK(first != other);
  CHECK(medians("c.sqlite") == first);
}

TEST_CASE("the truth of a world is printed as its schema says", "[cli]") {
  const Folder folder;
  folder.write("world.json", world());
  const Json truth =
      json_of(nsatune(folder, "worker-sim world.json --truth 128,256:512:2"), "playback_truth");
  const Json written =
      json_of(nsatune(folder, "worker-sim world.json --truth 1k,128:.5k:x2"), "playback_truth");
  CHECK(written["lengths"] == Json({1024, 128, 256, 512}));
  CHECK(truth["lengths"] == Json({128, 256, 512}));
  CHECK(truth["variants"][0]["ns"][0] == 22800);
  CHECK(truth["variants"][1]["smooth_ns"][0] == 22800);
  CHECK(truth["variants"][1]["ns"][1].get<double>() == Approx(35600 * 0.9));
}

TEST_CASE("each fault of a played variant costs that variant, not the other", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  const auto with_fault = [&](const std::string& kind, const std::string& more = "") {
    std::filesystem::remove(folder.file("a.sqlite"));
    folder.write("world.json",
                 world(R"(, "faults": [{"kind": ")" + kind + R"(", "from": 200}])", more));
    return outcomes(folder);
  };
  const int all = with_fault("wrong")["added"];  // unseen: this world is not verified
  CHECK(with_fault("wrong")["failures"] == 0);
  for (const char* kind : {"crash", "hang", "bad_reply", "out_of_memory", "too_few_samples"}) {
    CAPTURE(kind);
    auto seen = with_fault(kind);
    CHECK(seen["failures"] == 1);
    CHECK(seen["added"] > all / 2);
  }
  CHECK(with_fault("refuse")["unsupported"] == 1);
  CHECK(with_fault("wrong", R"(, "verifies": true)")["failures"] == 1);
  CHECK(with_fault("refuse", R"(, "verifies": true)")["failures"] == 0);
}

TEST_CASE("a sweep names who crashed in its last line, and --strict makes it exit 1", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  const auto sweep = [&](const std::string& faults, const std::string& flags,
                         const std::string& more = "") {
    std::filesystem::remove(folder.file("a.sqlite"));
    folder.write("world.json", world(faults, more));
    return nsatune(folder,
                   "sweep spec.json --new --db " + folder.file("a.sqlite") +
                       " --worker '" NSATUNE_PROGRAM " worker-sim " + folder.file("world.json") +
                       "'" + flags,
                   "NSATUNE_LOCK_DIR=" + folder.path().string());
  };
  const std::string crash = R"(, "faults": [{"kind": "crash", "from": 200}])";
  const Result told = sweep(crash, "");
  INFO(told.err);
  CHECK(told.exit_code == 0);
  const std::string last = told.err.substr(told.err.rfind('\n', told.err.size() - 2) + 1);
  CHECK(last.find("late (sim): crashed at length ") != std::string::npos);
  CHECK(sweep(crash, " --strict").exit_code == 1);
  CHECK(sweep("", " --strict").exit_code == 0);
  // Longer ones are left out for it, and were not wrong themselves.
  const std::string wrong = R"(, "faults": [{"kind": "wrong", "from": 100, "to": 150}])";
  const Result out = sweep(wrong, "", R"(, "verifies": true)");
  INFO(out.err);
  CHECK(out.err.find("late (sim): wrong result at length 128 (row") != std::string::npos);
}

TEST_CASE("a sweep of noise alone says that nothing can be decided, and --strict fails", "[cli]") {
  const Folder folder;
  folder.write("spec.json", kSpec);
  folder.write("world.json", world("", R"(, "clock": {"throttled": [{"from": 0, "to": 1000000,
                                       "reason": "of_another_maker"}]})"));
  const auto sweep = [&](const std::string& db, const std::string& flags) {
    return nsatune(folder, "sweep spec.json --db " + folder.file(db) +
                               " --worker '" NSATUNE_PROGRAM " worker-sim " +
                               folder.file("world.json") + "'" + flags);
  };
  const Result told = sweep("a.sqlite", "");
  INFO(told.err);
  CHECK(told.exit_code == 0);
  const std::string last = told.err.substr(told.err.rfind('\n', told.err.size() - 2) + 1);
  CHECK(last ==
        "sweep: every time is noisy, so that nothing can be decided; sweep again when the "
        "machine is quiet\n");
  CHECK(told.err.find("throttled: of_another_maker") != std::string::npos);
  CHECK(sweep("b.sqlite", " --strict").exit_code == 1);
}

TEST_CASE("a script that cannot be played is one line and exit code 2", "[cli]") {
  const Folder folder;
  folder.write("world.json", world(R"(, "speed": 1)"));
  const Result refused = nsatune(folder, "worker-sim world.json");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("world.json: /variants/1") != std::string::npos);
  CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  CHECK(nsatune(folder, "worker-sim nowhere.json").exit_code == 2);
}

}  // namespace nsa::test
