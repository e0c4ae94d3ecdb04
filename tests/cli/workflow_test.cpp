// sweep -> tune -> explain -> run on a grid that is small enough for a test.
#include <sys/wait.h>
#include <chrono>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "played_rows.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "small", "stages": ["ranges", "attend_selected"],
  "policy": {"samples": 2, "processes": 1, "min_rounds": 1, "max_rounds": 2, "cold": false,
             "refine": false, "visit_target_s": 0.01},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 96]}}]})";

Folder& swept() {
  static Folder folder;
  static const Result result = [] {
    folder.write("small.json", kSpec);
    return nsatune(folder, "sweep small.json --json --accept-noise");
  }();
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return folder;
}

}  // namespace

TEST_CASE("devices and variants print documents that obey their schemas", "[cli]") {
  const Folder folder;
  const Json devices = json_of(nsatune(folder, "devices --json"), "devices");
  CHECK(devices["devices"][0]["id"] == "cpu");
  const Json variants = json_of(nsatune(folder, "variants --json"), "variants");
  CHECK(variants["variants"].size() > 20);
  CHECK(nsatune(folder, "devices").out.find("cpu") != std::string::npos);
  CHECK(nsatune(folder, "variants").out.find("fused_query") != std::string::npos);
}

TEST_CASE("a dry run prints the plan and opens no database", "[cli]") {
  const Folder folder;
  folder.write("small.json", kSpec);
  const Json plan = json_of(nsatune(folder, "sweep small.json --dry-run --json"), "sweep_plan");
  CHECK(plan["contests"].size() == 4);
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

TEST_CASE("contests over the limit of a spec are rows with the reason, and are said beforehand",
          "[cli]") {
  const Folder folder;
  Json spec = Json::parse(kSpec);
  spec["stages"] = {"ranges"};
  spec["families"][0]["axes"]["seq_len"] = {64, 4096};
  folder.write("all.json", spec.dump());
  const Json all = json_of(nsatune(folder, "sweep all.json --dry-run --json"), "sweep_plan");
  REQUIRE(all["contests"].size() == 2);
  CHECK_FALSE(all.contains("left_out"));
  spec["contest_limit_s"] = all["contests"][0]["estimated_s"];
  folder.write("short.json", spec.dump());
  const Json some = json_of(nsatune(folder, "sweep short.json --dry-run --json"), "sweep_plan");
  REQUIRE(some["left_out"].size() == 1);
  CHECK(some["left_out"][0]["problem"]["seq_lens"][0] == 4096);
  const std::string said = "1 contest left out, of ";
  CHECK(nsatune(folder, "sweep short.json --dry-run").out.find(said) != std::string::npos);
  const Result swept = nsatune(folder, "sweep short.json --json --accept-noise");
  CHECK(swept.err.find("note: " + said) != std::string::npos);
  const auto variants = static_cast<std::int64_t>(some["left_out"][0]["variants"].size());
  CHECK(json_of(swept, "sweep_result")["too_slow"] == variants);
  const Result rows = nsatune(folder, "export csv -o rows.csv");
  INFO(rows.err);
  std::ifstream csv(folder.file("rows.csv"));
  std::int64_t left_out = 0;
  for (std::string line; std::getline(csv, line);)
    left_out += line.find(",contest left out: estimated at ") != std::string::npos ||
                line.find(",\"contest left out: estimated at ") != std::string::npos;
  CHECK(left_out == variants);
}

TEST_CASE("a sweep tells its events line by line, and each part of its time", "[cli]") {
  const Folder folder;
  folder.write("small.json", kSpec);
  const auto start = std::chrono::steady_clock::now();
  const Result swept = nsatune(folder, "sweep small.json --json-lines --stage ranges");
  const std::chrono::duration<double> outside = std::chrono::steady_clock::now() - start;
  INFO(swept.err);
  REQUIRE(swept.exit_code == 0);
  std::istringstream lines(swept.out);
  std::vector<Json> events;
  for (std::string line; std::getline(lines, line);) {
    events.push_back(Json::parse(line));
    CHECK_NOTHROW(validate_json(events.back(), "sweep_event", line));
  }
  const auto count = [&](const char* kind) {
    return std::count_if(events.begin(), events.end(),
                         [&](const Json& event) { return event["event"] == kind; });
  };
  CHECK(count("contest") == 2);
  CHECK(count("progress") >= 2);
  CHECK(count("end") == 1);
  REQUIRE(events.back()["event"] == "end");
  CHECK_NOTHROW(validate_json(events.back()["result"], "sweep_result", "end"));
  const Json& breakdown = events.back()["result"]["time_breakdown"];
  double sum = 0;
  for (const auto& [part, part_s] : breakdown.items()) {
    CHECK(part_s >= 0);
    if (part != "wall_s") sum += part_s.get<double>();
  }
  CHECK(sum == Approx(breakdown["wall_s"].get<double>()).epsilon(0.001));
  // From the start of the process: its clock has hundredths of a second.
  CHECK(breakdown["program_s"] > 0);
  CHECK(breakdown["wall_s"] < outside.count() + 0.01);
  CHECK(nsatune(folder, "sweep small.json --json --json-lines").exit_code == 2);
}

TEST_CASE("a sweep fills the database, and the same command again measures nothing new", "[cli]") {
  Folder& folder = swept();
  const Json info = json_of(nsatune(folder, "db info --json"), "db_info");
  CHECK(info["runs"] == 1);
  CHECK(info["run_list"][0]["state"] == "complete");
  const std::string run = info["run_list"][0]["id"];
  const Json again = json_of(
      nsatune(folder, "sweep small.json --json --accept-noise --resume " + run), "sweep_result");
  CHECK(again["rows_added"] == 0);
  CHECK(again["rows"] == info["measurements"]);
  const Json verified = json_of(nsatune(folder, "db verify --json"), "db_verify");
  CHECK(verified["problems"].empty());
}

TEST_CASE("a sweep that a signal stops exits 130, whether it measures or waits for a worker",
          "[cli]") {
  const Folder folder;
  folder.write("small.json", kSpec);
  const auto stopped = [&](const std::string& arguments, const char* until) {
    const std::string script = "cd '" + folder.path().string() + "' && { rm -f out err; '" +
                               NSATUNE_PROGRAM "' sweep " + arguments +
                               " >out 2>err & p=$!; while ! " + until +
                               "; do sleep 0.05; done; kill -TERM $p; wait $p; }";
    const int status = std::system(script.c_str());
    return WEXITSTATUS(status);
  };
  CHECK(stopped("default", "grep -q '^run ' err 2>/dev/null") == 130);
  CHECK(stopped("small.json --worker 'echo $$ >shell; sleep 975'", "test -s shell") == 130);
  const std::string pid = read_text_file(folder.file("shell"));
  CHECK_FALSE(std::filesystem::exists("/proc/" + pid.substr(0, pid.find('\n')) + "/exe"));
}

TEST_CASE("counters that cannot be read are a reason in the database, told once, and no failure",
          "[cli]") {
  const Folder folder;
  folder.write("small.json", kSpec);
  const Result sweep = nsatune(folder, "sweep small.json --stage ranges --counters");
  INFO(sweep.err);
  CHECK(sweep.exit_code == 0);
  const std::string reason = "read through CUPTI, which cpu has not";
  const std::size_t told = sweep.err.find(reason);
  REQUIRE(told != std::string::npos);
  CHECK(sweep.err.find(reason, told + 1) == std::string::npos);
  const Json counters = json_of(nsatune(folder, "db counters --json"), "db_counters");
  REQUIRE(counters["launch_counters"].size() == 4);  // two converters, two lengths
  for (const Json& row : counters["launch_counters"]) {
    CHECK(row["outcome"] == "unsupported");
    CHECK(row["reason"].get<std::string>().find(reason) != std::string::npos);
  }
  CHECK(nsatune(folder, "db counters --variant ranges_v1").out.find(reason) != std::string::npos);
  const Result none = nsatune(folder, "db counters --variant nobody");
  CHECK(none.out.empty());
  CHECK(none.err.find("db counters lists all") != std::string::npos);
}

TEST_CASE("the results can be exported and the samples printed", "[cli]") {
  Folder& folder = swept();
  const Json all = json_of(nsatune(folder, "export --format json"), "export_results");
  REQUIRE(all["measurements"].size() > 4);
  const std::string id = all["measurements"][0]["id"];
  CHECK(nsatune(folder, "db samples " + id).out.starts_with("start_ns,device_ns,host_ns,cycles\n"));
  CHECK(nsatune(folder, "export").out.find("attend_selected") != std::string::npos);
  CHECK(nsatune(folder, "export --run ffffffff").exit_code == 2);
}

TEST_CASE("tune writes a file that explain and run follow", "[cli]") {
  Folder& folder = swept();
  json_of(nsatune(folder, "tune -o t.json --json"), "tune_result");
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  REQUIRE(table.classes.size() == 1);
  folder.write("model.yaml",
               "model: {dim: 32, n_layers: 1, n_heads: 4, n_kv_groups: 2, d_k: 16, d_v: 16}\n"
               "nsa: {l: 8, d: 4, l_sel: 8, n_sel: 4, w: 16}\nruntime: {precision: fp32}\n");
  const std::string shape = " --config model.yaml --seq-len 96 --json";
  const Json explained = json_of(nsatune(folder, "explain t.json" + shape), "explain");
  bool from_file = false;
  for (const Json& decision : explained["decisions"]) {
    from_file = from_file || decision["source"] == "thresholds";
  }
  CHECK(from_file);
  const Json run =
      json_of(nsatune(folder, "run --thresholds t.json --steps 2" + shape), "run_result");
  CHECK(run["slow_path_calls"] == 0);
  CHECK(run["tokens_per_s"].get<double>() > 0);
}

TEST_CASE("tune says from where NSA beats dense attention", "[cli]") {
  const Folder folder;
  Json spec = Json::parse(kSpec);
  spec["stages"] = {"attention"};
  spec["policy"]["processes"] = 2;
  spec["policy"]["max_rounds"] = 4;
  spec["families"][0]["axes"]["seq_len"] = {64, 128, 256, 512, 1024};
  add_played_rows(folder, spec.dump(), {world_of("attention", "dense", "batched", 256)});
  REQUIRE(nsatune(folder, "tune -o t.json").exit_code == 0);
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  REQUIRE(table.classes.size() == 1);
  const auto& found = table.classes[0].dense_break_even.value();
  CHECK(found.baseline == "attention/dense");
  CHECK(found.from.value() > 200);
  CHECK(found.from.value() < 320);
}

TEST_CASE("a run by the shipped thresholds names their file", "[cli]") {
  Folder& folder = swept();
  const std::string command = "run --preset tiny --seq-len 64 --steps 1";
  CHECK(json_of(nsatune(folder, command + " --json"), "run_result")["thresholds"].is_null());
  std::filesystem::create_directory(folder.file("shipped"));
  json_of(nsatune(folder, "tune -o shipped/here.json --json"), "tune_result");
  const std::string shipped = "NSATUNE_SHIPPED='" + folder.file("shipped") + "'";
  const Json run = json_of(nsatune(folder, command + " --json", shipped), "run_result");
  CHECK(run["thresholds"] == folder.file("shipped/here.json"));
  CHECK(nsatune(folder, command, shipped).out.find("thresholds: /") != std::string::npos);
}

TEST_CASE("tune without a row that counts is exit 3 with an empty document", "[cli]") {
  const Result r = nsatune(swept(), "tune -o nobody.json --executor nobody --json");
  CHECK(r.exit_code == 3);
  CHECK(json_of(r, "tune_result")["written"].empty());
  CHECK_FALSE(std::filesystem::exists(swept().file("nobody.json")));
}

TEST_CASE("a fallback of the backward pass counts like one of the forward pass", "[cli]") {
  const Folder folder;
  const std::string command =
      "run --preset tiny --seq-len 64 --layers 1 --steps 1 --train --no-db ";
  const Result ran = nsatune(folder, command + "--strict --json", "NSA_USE_FA2=0");
  CHECK(ran.exit_code == 1);
  CHECK(json_of(ran, "run_result")["telemetry"]["fallback"].empty());  // none in the forward pass
  CHECK(nsatune(folder, command + "--heartbeat h.jsonl", "NSA_USE_FA2=0").exit_code == 0);
  CHECK(read_text_file(folder.file("h.jsonl")).find("\"fb_total_fallbacks\":2") !=
        std::string::npos);
}

TEST_CASE("a slow path warns once, is counted, and --strict makes it exit 1", "[cli]") {
  const Folder folder;
  const std::string command = "run --preset tiny --seq-len 64 --layers 1 --steps 1 --strict --json";
  CHECK(nsatune(folder, command).exit_code == 0);
  const Result slow = nsatune(folder, command, "NSA_USE_SEL_PACK=0");
  CHECK(slow.exit_code == 1);
  const std::size_t first = slow.err.find("Using slow _sdpa_over_ranges");
  REQUIRE(first != std::string::npos);
  CHECK(slow.err.find("Using slow _sdpa_over_ranges", first + 1) == std::string::npos);
  CHECK(json_of(slow, "run_result")["slow_path_calls"].get<int>() > 0);
}

TEST_CASE("ablations skip the work of what they leave out", "[cli]") {
  const Folder folder;
  const auto stages_of = [&](const std::string& flags) {
    const Json run = json_of(
        nsatune(folder, "run --preset tiny --seq-len 96 --steps 1 --json " + flags), "run_result");
    std::string stages;
    for (const Json& e : run["engaged"]) stages += e["stage"].get<std::string>() + " ";
    return stages;
  };
  CHECK(stages_of("").find("attend_selected") != std::string::npos);
  const std::string two = stages_of("--branches win,cmp");
  CHECK(two.find("attend_selected") == std::string::npos);
  CHECK(two.find("score") == std::string::npos);
  CHECK(two.find("attend_window") != std::string::npos);
  const std::string window = stages_of("--branches win");
  CHECK(window.find("compress") == std::string::npos);
  const std::string dense = stages_of("--attention dense");
  CHECK(dense.find("gate_combine") == std::string::npos);
  CHECK(dense.find("compress") == std::string::npos);
}

TEST_CASE("telemetry lands in the database and in the heartbeat", "[cli]") {
  const Folder folder;
  const Result r = nsatune(folder,
                           "run --preset tiny --seq-len 64 --steps 4 --every 2 --heartbeat "
                           "heartbeat_rank0.jsonl --db telemetry.sqlite");
  REQUIRE(r.exit_code == 0);
  const std::string lines = read_text_file(folder.file("heartbeat_rank0.jsonl"));
  std::size_t progress = 0;
  for (std::size_t at = 0; (at = lines.find("\"progress\"", at)) != std::string::npos; ++at)
    ++progress;
  CHECK(progress == 2);
  const Json beat = parse_json(lines.substr(0, lines.find('\n')), "heartbeat");
  CHECK(beat["reads_pred"] > 1000);  // known from the first step on
  CHECK(beat["sel_rows"] > 0);
  CHECK(beat["grow_events"] == 0);  // all of the workspace was reserved before the first step
  CHECK(nsatune(folder, "db info --db telemetry.sqlite").exit_code == 0);
}

}  // namespace nsa::test
