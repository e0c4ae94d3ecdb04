// check --confirm: played worlds are the old and the new build, so the truth is known.
#include <fmt/format.h>

#include "../store/support.hpp"
#include "catch.hpp"
#include "device_holder.hpp"
#include "history.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "played", "policy": {"samples": 1, "processes": 3, "min_rounds": 2,
  "max_rounds": 2, "cold": false, "deadline_s": 3, "refine": false, "noise_gate": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"}}]})";

/// A build whose variants take `launch_ns`; `more` stands in the second one.
std::string world(int launch_ns, const std::string& name = "second", const std::string& more = "") {
  return fmt::format(R"({{"schema_version": 1, "seed": 5, "executor": "sim",
    "stages": ["attend_selected"], "state": "{0}.state", "noise": {{"white_sigma": 0.002}},
    "variants": [{{"name": "first", "time": {{"launch_ns": 30000, "terms": []}}}},
    {{"name": "{1}", "time": {{"launch_ns": {0}, "terms": []}}{2}}}]}})",
                     launch_ns, name, more);
}

std::string sim(const Folder& folder, const std::string& file) {
  return "'" NSATUNE_PROGRAM " worker-sim " + folder.file(file) + "'";
}

Result run(const Folder& folder, const std::string& arguments) {
  return nsatune(folder, arguments, "NSATUNE_LOCK_DIR=" + folder.path().string());
}

/// 24 nights like the one that `sweep` stores in one.sqlite; in the last two the variant took 8 %
/// longer.
void make_history_of(const Folder& folder, const std::string& sweep, const std::string& variant) {
  REQUIRE(run(folder, "sweep " + sweep + " --db one.sqlite").exit_code == 0);
  const store::Store one = store::Store::open_existing(folder.file("one.sqlite"));
  const Run swept = one.runs().at(0);
  const std::vector<Measurement> rows = one.measurements({.with_samples = true});
  std::vector<store::RunWithRows> nights;
  for (int night = 0; night < 24; ++night) {
    nights.push_back({swept, rows});
    Run& tonight = nights.back().run;
    tonight.id = fmt::format("run-{:02}", night);
    tonight.started_at = fmt::format("2026-01-{:02}T02:00:00.000Z", night + 1);
    tonight.ended_at = tonight.started_at;
    for (Measurement& row : nights.back().rows) {
      row.id = tonight.id + row.id;
      row.run_id = tonight.id;
      const bool slow = night >= 22 && row.variant.name == variant;
      row.source_hash = slow ? "new" : "old";
      row.median_ns = *row.median_ns * (slow ? 1.08 : 1) * (1 + 0.005 * wobble(night, 0));
    }
  }
  store::Store::open(folder.file("results.sqlite")).add_runs(nights);
}

void make_history(const Folder& folder) {
  folder.write("spec.json", kSpec);
  folder.write("world.json", world(10000));
  make_history_of(folder, "spec.json --worker " + sim(folder, "world.json"), "second");
}

Result check(const Folder& folder, const std::string& more = "--json") {
  return run(folder, "check --confirm --old " + sim(folder, "old.json") + " --worker " +
                         sim(folder, "new.json") + " " + more);
}

Json series_named(const Json& document, const std::string& name) {
  for (const Json& series : document["series"]) {
    if (series["name"].get<std::string>().find(name) != std::string::npos) return series;
  }
  FAIL("no series of " + name);
  return {};
}

}  // namespace

TEST_CASE("a step is confirmed where the old build is faster and cleared where it is not",
          "[check]") {
  const Folder folder;
  make_history(folder);
  CHECK(nsatune(folder, "check").exit_code == 1);
  folder.write("new.json", world(10800));
  folder.write("old.json", world(10000));
  const Result slower = check(folder);
  INFO(slower.err);
  CHECK(slower.exit_code == 1);
  const Json confirmed = series_named(json_of(slower, "check"), "second");
  CHECK(confirmed["state"] == "confirmed");
  CHECK(confirmed["confirmation"]["pairs"] == 5);
  CHECK(confirmed["confirmation"]["ratio"].get<double>() == Approx(1.08).epsilon(0.005));
  CHECK_FALSE(series_named(json_of(slower, "check"), "first").contains("confirmation"));

  folder.write("old.json", world(10801));
  const Result alike = check(folder);
  CHECK(alike.exit_code == 0);
  CHECK(series_named(json_of(alike, "check"), "second")["state"] == "cleared");
  for (const std::string format : {"text", "json", "markdown", "comment", "csv"}) {
    INFO(format);
    CHECK(check(folder, "--format " + format).out.find("cleared") != std::string::npos);
  }
  CHECK(check(folder, "--format junit").out.find("failures=\"0\"") != std::string::npos);
}

TEST_CASE("builds are measured in turn with others on the device, and played ones at once",
          "[check]") {
  const Folder folder;
  make_history_of(folder, "quick --axis seq_len=64 --stage ranges --accept-noise", "ranges_v2");
  const std::string confirm = "check --confirm --old '" NSATUNE_PROGRAM "' --json";
  const Waited waited = wait_behind_holder(folder, confirm);
  check_names_holder(waited);
  CHECK(series_named(json_of(waited.result, "check"), "ranges_v2")["confirmation"]["pairs"] == 5);

  const Folder played;
  make_history(played);
  played.write("new.json", world(10800));
  played.write("old.json", world(10000));
  const Holder holder(played);
  const Result at_once = check(played);
  CHECK(at_once.err.find("waiting") == std::string::npos);
  CHECK(at_once.exit_code == 1);
}

TEST_CASE("what cannot be measured again keeps its state and says why", "[check]") {
  const Folder folder;
  make_history(folder);
  folder.write("new.json", world(10800));
  const auto reason = [&](const std::string& old_build, const std::string& more = "") {
    folder.write("old.json", old_build);
    const Result result = check(folder, "--json " + more);
    INFO(result.err);
    CHECK(result.exit_code == 1);
    const Json series = series_named(json_of(result, "check"), "second");
    CHECK(series["state"] == "confirmed");
    CHECK(series["confirmation"]["pairs"].get<int>() < 5);
    const std::string text = series["reason"];
    return text.substr(std::min(text.size(), text.find("not measured again: ")));
  };
  CHECK(reason(world(10000, "third")).find("old build: ") != std::string::npos);
  CHECK(reason(world(10000, "third")).find("does not bring attend_selected/second") !=
        std::string::npos);
  CHECK(reason(world(10000, "second", R"(, "faults": [{"kind": "crash"}])")).find("crashed") !=
        std::string::npos);
  const std::string hangs = world(10000, "second", R"(, "faults": [{"kind": "hang"}])");
  CHECK(reason(hangs, "--confirm-budget 1s").find("the time was over") != std::string::npos);
}

TEST_CASE("an output that cannot be written is refused before anything is measured again",
          "[check]") {
  const Folder folder;
  make_history(folder);
  folder.write("new.json", world(10800));
  folder.write("old.json", world(10000));
  const Result result = check(folder, "--format junit -o no/such.xml");
  CHECK(result.exit_code == 2);
  CHECK(result.err.starts_with("nsatune: no/such.xml: cannot be written: "));
}

TEST_CASE("a wait for the device is no part of --confirm-budget", "[check]") {
  const Folder folder;
  make_history_of(folder, "quick --axis seq_len=64 --stage ranges --accept-noise", "ranges_v2");
  constexpr int kBudgetS = 10;
  const Waited waited = wait_behind_holder(
      folder,
      fmt::format("check --confirm --old '" NSATUNE_PROGRAM "' --json --confirm-budget {}s",
                  kBudgetS),
      kBudgetS);
  check_names_holder(waited);
  CHECK(series_named(json_of(waited.result, "check"), "ranges_v2")["confirmation"]["pairs"] == 5);
}

TEST_CASE("an old build that is none is one line and exit 2 before anything is measured",
          "[check]") {
  const Folder folder;
  make_history(folder);
  folder.write("new.json", world(10800));
  folder.write("text", "no program");
  const std::string worker = " --worker " + sim(folder, "new.json");
  const std::string csv = "--csv h.csv --confirm --old /bin/true";
  for (const std::string& flags :
       {std::string("--confirm"), std::string("--confirm --old missing"),
        std::string("--confirm --old text"), std::string("--old text"), csv,
        "--confirm --old false" + worker, "--confirm --old ./missing" + worker,
        "--confirm --old ./missing --pairs 4" + worker}) {
    const Result result = run(folder, "check " + flags);
    INFO(flags << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') <= 2);  // a note of progress
  }
}

}  // namespace nsa::test
