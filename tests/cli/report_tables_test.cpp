// report matrix, eta, targets ... and check --targets through the real program.
#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace nsa::test {
namespace {

/// Two quick processes of the smallest model a cell.
const std::string kQuick = " --preset tiny --seq-lens 64 --processes 2 --steps 1 --quiet --json";

Json runs_json(const Folder& folder, const std::string& arguments) {
  const bool trains = arguments.find("--train") != std::string::npos;
  const Result result =
      nsatune(folder, "report " + arguments + kQuick + (trains ? "" : " --warmup 0"));
  INFO(arguments << ": " << result.err);
  CHECK(result.exit_code == 0);
  return json_of(result, "report_runs");
}

/// A target of this machine's CPU.
std::string target(const std::string& direction, double at_least) {
  return R"({"device": "*", "model": "tiny", "seq_len": 64, "direction": ")" + direction +
         R"(", "at_least": )" + std::to_string(at_least) + "}";
}

std::string targets(const std::string& list) {
  return R"({"schema_version": 1, "targets": [)" + list + "]}";
}

/// A database with one forward pass of the tiny model.
void run_once(const Folder& folder) {
  const Result run = nsatune(folder, "run --preset tiny --seq-len 64 --steps 1 --quiet");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
}

int check_exit(const Folder& folder, const std::string& list) {
  folder.write("targets.json", targets(list));
  const Result result = nsatune(folder, "check --targets targets.json --json");
  INFO(result.err);
  const Json document = json_of(result, "report_targets");
  CHECK(document["exit_code"] == result.exit_code);
  return result.exit_code;
}

}  // namespace

TEST_CASE("the matrix of converters has a cell for each length and converter", "[cli]") {
  const Folder folder;
  const Json document = runs_json(folder, "matrix");
  CHECK(document["header"]["direction"] == "forward");
  REQUIRE(document["cells"].size() == 3);
  for (const Json& cell : document["cells"]) {
    CHECK(cell["status"] == "ok");
    CHECK(cell["tokens_per_s"].get<double>() > 0);
    CHECK(cell["tokens_per_s_interval"].size() == 2);
  }
  const std::string v1 = document["cells"][1]["ran"].dump(),
                    v2 = document["cells"][2]["ran"].dump();
  CHECK(v1.find("ranges/ranges_v1") != std::string::npos);
  CHECK(v2.find("ranges/ranges_v2") != std::string::npos);
}

TEST_CASE("switches of the caller do not reach the cells", "[cli]") {
  const Folder folder;
  const Result result = nsatune(folder, "report paths --warmup 0" + kQuick,
                                "NSA_FORCE_SEL_MASK=1 NSA_PREFILL_BATCHED=0");
  const Json tuned = json_of(result, "report_runs")["cells"][0];
  CHECK(tuned["ran"].dump().find("masked") == std::string::npos);
  CHECK(tuned["ran"].dump().find("sequential") == std::string::npos);
}

TEST_CASE("every table of whole passes obeys its schema", "[cli]") {
  const Folder folder;
  CHECK(runs_json(folder, "ablations")["cells"].size() >= 7);
  CHECK(runs_json(folder, "claims")["claims"].size() == 6);
  const Json batches = runs_json(folder, "batch --batches 1,2 --kv-heads 1,8");
  CHECK(batches["cells"][1]["tokens_per_step"] == 128);
  CHECK(batches["cells"][3]["setting"] == "--kv-heads 8");
  const Result result = nsatune(folder,
                                "report eta --steps 1000 --measured-steps 1 --price 3 --preset "
                                "tiny --seq-lens 64 --processes 2 --json -q");
  const Json eta = json_of(result, "report_runs")["eta"];
  CHECK(eta["settings"][0]["cost"].get<double>() ==
        Approx(3 * eta["settings"][0]["hours"].get<double>()));
}

TEST_CASE("cells that this machine has no memory for are rows", "[cli]") {
  const Folder folder;
  const Result result = nsatune(
      folder,
      "report matrix --train --preset tiny --device cpu --seq-lens 16777216 --batch 64 --steps 1 "
      "--processes 1 --timeout 20 --json");
  INFO(result.err);
  CHECK(result.exit_code == 3);
  const Json cells = json_of(result, "report_runs")["cells"];
  REQUIRE(!cells.empty());
  for (const Json& cell : cells) {
    CHECK(cell["status"] == "failed");
    CHECK(cell["reason"].get<std::string>().find("run --train: needs ") == 0);
  }
}

TEST_CASE("a database that cannot be is refused before a table measures anything", "[cli]") {
  for (const std::string& db : {std::string("."), std::string("no/such.sqlite")})
    check_refused("report matrix --preset tiny --seq-lens 64 --processes 1 --db " + db,
                  "nsatune: " + db + ": ");
}

TEST_CASE("of training: batches and checkpointing with their memory, and each switch by itself",
          "[cli]") {
  const Folder folder;
  const Json batches = runs_json(folder, "batch --train --batches 1,2")["cells"];
  REQUIRE(batches.size() == 4);
  CHECK(batches[3]["setting"] == "--checkpoint all");
  for (const Json& cell : batches) {
    CHECK(cell["status"] == "ok");
    const double peak = cell["workspace_peak_bytes"], predicted = cell["predicted_peak_bytes"];
    CHECK(predicted / peak == Approx(1).epsilon(0.05));
  }
  CHECK(batches[3]["speedup"].get<double>() > 0);
  CHECK(batches[2]["workspace_peak_bytes"] > batches[0]["workspace_peak_bytes"]);
  CHECK(batches[0]["tokens_per_step"] == 64);

  const Json document = runs_json(folder, "ablations --train");
  CHECK(document["header"]["direction"] == "training");
  std::map<std::string, Json> cells;
  for (const Json& cell : document["cells"]) cells[cell["label"]] = cell;
  CHECK(cells.at("checkpointed")["against"] == "defaults");
  CHECK(cells.at("masked")["ran"].dump().find("attend_selected/masked") != std::string::npos);
  CHECK(cells.at("defaults")["ran"].dump().find("attend_selected/masked") == std::string::npos);
  CHECK(cells.count("no masters") == 0);  // of fp32
  CHECK(cells.count("graph") == 0);       // on a CPU
  CHECK(nsatune(folder, "report batch --train --kv-heads 1").exit_code == 2);
}

TEST_CASE("a thresholds file is not that of cells with the built-in order", "[cli]") {
  const Folder folder;
  folder.write("masked.json", R"({"schema_version": 1, "name": "masked", "families": [{
      "name": "a", "base": {"q_heads": 8, "kv_heads": 2, "head_dim_k": 32, "head_dim_v": 32},
      "axes": {"seq_len": [64, 96]}, "stages": ["attend_selected"], "variants": ["masked"]}]})");
  REQUIRE(nsatune(folder, "sweep masked.json -q --db s.db").exit_code == 0);
  REQUIRE(nsatune(folder, "tune --db s.db -o t.json -q").exit_code == 0);
  const auto runs_masked = [&](const std::string& arguments, const std::string& label) {
    const Json document = runs_json(folder, arguments + " --thresholds t.json");
    for (const Json& cell : document["cells"]) {
      if (cell["label"] != label) continue;
      CHECK(cell["status"] == "ok");
      return cell["ran"].dump().find("attend_selected/masked") != std::string::npos;
    }
    throw std::runtime_error("no cell " + label);
  };
  CHECK(runs_masked("claims", "tuned choices"));
  CHECK_FALSE(runs_masked("claims", "kernel fusion"));
  CHECK_FALSE(runs_masked("ablations --train", "built-in order"));
}

TEST_CASE("cells that the database has are not measured again", "[cli]") {
  const Folder folder;
  const Json first = runs_json(folder, "paths");
  const Json again = runs_json(folder, "paths --reuse");
  REQUIRE(again["cells"].size() == first["cells"].size());
  for (std::size_t i = 0; i < first["cells"].size(); ++i)
    CHECK(again["cells"][i]["step_ns"] == Approx(first["cells"][i]["step_ns"].get<double>()));
  const Json info = json_of(nsatune(folder, "db info --json"), "db_info");
  CHECK(info["run_list"].size() == 10);
}

TEST_CASE("a cell that takes too long is a row, and the others go on", "[cli]") {
  const Folder folder;
  const Result result = nsatune(
      folder, "report paths --preset 125m --seq-lens 4096 --processes 1 --timeout 0.01 --json -q");
  CHECK(result.exit_code == 3);
  const Json document = json_of(result, "report_runs");
  REQUIRE(document["cells"].size() == 5);
  for (const Json& cell : document["cells"]) CHECK(cell["status"] == "timeout");
}

TEST_CASE("a rate that is known needs no measuring for its hours", "[cli]") {
  const Folder folder;
  const Result result =
      nsatune(folder, "report eta --tokens-per-s 39 --seq-lens 2048 --batch 2 --json");
  CHECK(result.exit_code == 0);
  const Json setting = json_of(result, "report_runs")["eta"]["settings"][0];
  CHECK(setting["hours"].get<double>() == Approx(1458.7).epsilon(1e-3));
  CHECK(setting["training"] == "no_go");
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

TEST_CASE("slopes of whole passes are over lengths", "[cli]") {
  const Folder folder;
  const Result result = nsatune(folder,
                                "report scaling --runs --preset tiny --seq-lens 32,64,128 "
                                "--processes 1 --warmup 0 --steps 1 --json -q");
  CHECK(result.exit_code == 0);
  const Json rows = json_of(result, "report_runs")["scaling"];
  REQUIRE(rows.size() == 5);
  CHECK(rows[0]["lengths"] == 3);
  CHECK(rows[0]["slope"].is_number());
}

TEST_CASE("check --targets passes, fails and judges nothing by its exit code", "[cli]") {
  const Folder folder;
  run_once(folder);
  CHECK(check_exit(folder, target("forward", 1)) == 0);
  CHECK(check_exit(folder, target("forward", 1e12)) == 1);
  CHECK(check_exit(folder, target("training", 1)) == 3);
  CHECK(check_exit(folder, target("forward", 1) + "," + target("forward", 1e12)) == 1);
  CHECK(check_exit(folder, "") == 3);
}

TEST_CASE("targets may be YAML, and report targets judges without failing", "[cli]") {
  const Folder folder;
  run_once(folder);
  folder.write("targets.yaml",
               "schema_version: 1\ntargets:\n  - device: '*'\n    model: tiny\n    seq_len: 64\n"
               "    direction: forward\n    at_least: 1e12\n");
  CHECK(nsatune(folder, "check --targets targets.yaml").exit_code == 1);
  const Result result = nsatune(folder, "report targets targets.yaml --json");
  CHECK(result.exit_code == 0);
  const Json judged = json_of(result, "report_targets")["judged"][0];
  CHECK(judged["verdict"] == "fail");
  CHECK(judged["gap_percent"].get<double>() < -99);
}

TEST_CASE("what no process could use is refused before any of them", "[cli]") {
  const Folder folder;
  const std::string matrix = "report matrix --preset tiny --seq-lens 8 --processes 1 --steps 1 ";
  const Result thresholds = nsatune(folder, matrix + "--thresholds none.json");
  CHECK(thresholds.exit_code == 2);
  CHECK(thresholds.err.starts_with("nsatune: none.json: cannot be found"));
  const Result device = nsatune(folder, matrix + "--device cuda:77");
  CHECK(device.exit_code == 4);
  CHECK(device.err.starts_with("nsatune: device cuda:77 is not here"));
  folder.write("file", "");
  const Result bundle = nsatune(folder, "report bundle tuned tuned -o file/x --preset tiny");
  CHECK(bundle.exit_code == 2);
  CHECK(bundle.err == "nsatune: file/x: cannot be made: Not a directory; name another folder\n");
  std::filesystem::create_symlink("loop", folder.file("loop"));
  CHECK(nsatune(folder, "report bundle tuned tuned --preset tiny -o loop/x").exit_code == 2);
}

TEST_CASE("a target that no rate could miss is refused", "[cli]") {
  const Folder folder;
  const auto refused = [&](const std::string& rates, const std::string& why) {
    folder.write("targets.yaml",
                 "schema_version: 1\ntargets:\n  - device: '*'\n    model: tiny\n    seq_len: 64\n"
                 "    direction: forward\n" +
                     rates);
    const Result result = nsatune(folder, "report targets targets.yaml");
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err == "nsatune: targets.yaml" + why + "\n");
  };
  refused("    at_least: .nan\n", ":7: .nan is not a finite number");
  refused("    at_least: .inf\n", ":7: .inf is not a finite number");
  refused("    at_least: 100\n    up_to: 50\n", ": /targets/0: up_to 50 is below at_least 100");
}

TEST_CASE("targets that users named are judged only on their devices", "[cli]") {
  const Folder folder;
  const Result result = nsatune(folder, "report targets --json");
  CHECK(result.exit_code == 3);
  const Json document = json_of(result, "report_targets");
  for (const Json& one : document["judged"]) CHECK(one["verdict"] == "not_measured");
}

TEST_CASE("targets of this device are measured on demand", "[cli]") {
  const Folder folder;
  folder.write("targets.json", targets(target("forward", 1) + "," + target("training", 1)));
  const Result result = nsatune(
      folder, "report targets targets.json --measure --processes 2 --steps 1 --warmup 0 --json -q");
  const Json judged = json_of(result, "report_targets")["judged"];
  CHECK(judged[0]["verdict"] == "pass");
  CHECK(judged[1]["verdict"] == "not_measured");
}

TEST_CASE("a bundle has traces, summaries, before and after, a note and a runbook", "[cli]") {
  const Folder folder;
  const std::string command =
      "report bundle NSA_USE_SEL_PACK=0 tuned --preset tiny --seq-lens 64 --processes 2 --steps 2 "
      "--quiet -o ab";
  const Result result = nsatune(folder, command);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("B is ") != std::string::npos);
  for (const char* file : {"a_trace.json", "b_trace.json", "a_summary.txt", "b_summary.txt",
                           "before_after.md", "design_note.md", "runbook.md", "runs.json"}) {
    INFO(file);
    CHECK_FALSE(read_text_file(folder.file(std::string("ab/") + file)).empty());
  }
  const std::string book = read_text_file(folder.file("ab/runbook.md"));
  const std::string flags = "--preset tiny --seq-len";
  CHECK(book.find("NSA_USE_SEL_PACK=0 nsatune run " + flags + " 64 --batch 1") !=
        std::string::npos);
  CHECK(book.find("bundle NSA_USE_SEL_PACK=0 tuned " + flags + "s 64 --batch 1") !=
        std::string::npos);
  CHECK(book.find("--steps 2 --processes 2 -o ab") != std::string::npos);
  const Json trace = parse_json(read_text_file(folder.file("ab/a_trace.json")), "a");
  CHECK(trace.dump().find("attend_selected") != std::string::npos);
  CHECK(nsatune(folder, command).exit_code == 2);  // the folder is there
  CHECK(nsatune(folder, "report bundle fast slow -o cd").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.file("cd")));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK(entry.path().string().find(".partial") == std::string::npos);
}

TEST_CASE("the folder of a bundle may be named with a slash, and a link is none", "[cli]") {
  const Folder folder;
  const std::string command =
      "report bundle tuned tuned --preset tiny --seq-lens 64 --processes 1 --steps 1 --quiet -o ";
  const Result slash = nsatune(folder, command + "ab/");
  INFO(slash.err);
  CHECK(slash.exit_code != 4);
  CHECK_FALSE(read_text_file(folder.file("ab/runs.json")).empty());
  const auto files = [](const std::string& path) {
    return std::distance(std::filesystem::directory_iterator(path), {});
  };
  CHECK(files(folder.file("ab")) == 8);
  std::filesystem::create_symlink("nowhere", folder.file("link"));
  const Result link = nsatune(folder, command + "link");
  CHECK(link.exit_code == 2);
  CHECK(link.err.find("link: exists") != std::string::npos);
}

TEST_CASE("the cache of a decode loop is counted with all its rows", "[cli]") {
  const Folder folder;
  // Selected, window (twice as long), raw and compressed keys and values of 2 layers, 2 heads,
  // fp32.
  const auto bytes_of = [](std::int64_t capacity) {
    const std::int64_t window = std::min<std::int64_t>(capacity, 2 * 512), raw = 32;
    const std::int64_t compressed = capacity < 32 ? 0 : (capacity - 32) / 16 + 1;
    return 2 * (capacity + window + raw + compressed) * 2 * (32 + 32) * 4;
  };
  const Json ran = json_of(nsatune(folder,
                                   "run --preset tiny --seq-len 300 --decode 8 --steps 1 "
                                   "--no-db --no-thresholds --json"),
                           "run_result");
  CHECK(ran["memory"]["cache_bytes"] == bytes_of(300 + 2 * 8 + 3));  // timed twice, and warm-up
  const Json asked =
      json_of(nsatune(folder, "report memory --preset tiny --seq-len 20 --batches 3 --json"),
              "report_memory");
  CHECK(asked["cache_bytes"][0] == 3 * bytes_of(20));
}

TEST_CASE("memory of each stage grows with the batch", "[cli]") {
  const Folder folder;
  const Result result = nsatune(folder, "report memory --preset tiny --batches 1,4 --json");
  CHECK(result.exit_code == 0);
  const Json document = json_of(result, "report_memory");
  CHECK(document["cache_bytes"][1] == 4 * document["cache_bytes"][0].get<std::int64_t>());
  REQUIRE(document["stages"].size() >= 9);
  for (const Json& stage : document["stages"])
    CHECK(stage["output_bytes"][1] == 4 * stage["output_bytes"][0].get<std::int64_t>());
}

TEST_CASE("cheaper selections lose picks, and the exact one loses none", "[cli]") {
  const Folder folder;
  const Result result = nsatune(folder, "report selection --tokens 1024 --alike 0.9 --json");
  CHECK(result.exit_code == 0);
  const Json rows = json_of(result, "report_selection")["tables"][0]["rows"];
  CHECK(rows[0]["recall"].get<double>() == Approx(1));
  CHECK(rows[1]["name"] == "adaptive n");
  CHECK(rows[1]["recall"].get<double>() < 1);
}

TEST_CASE("bad tables and targets are one line and exit 2", "[cli]") {
  const Folder folder;
  folder.write("bad.json", R"({"schema_version": 1, "targets": [{"device": "*"}]})");
  folder.write("twice.yaml", "schema_version: 1\ntargets: []\ntargets: []\n");
  folder.write("text.json", "no targets");
  for (const char* arguments :
       {"check --targets missing.json", "check --targets bad.json", "check --targets twice.yaml",
        "check --targets text.json", "check --targets bad.json --csv x.csv",
        "report matrix --preset huge", "report matrix --seq-lens 0", "report matrix --processes 0",
        "report matrix --train --warmup 0", "report ablations --train --warmup 1",
        "report batch --train --warmup 2", "report eta --price -1",
        "report batch --preset tiny --kv-heads 5 --batches 70000", "report targets missing.yaml",
        "run --preset tiny --kv-heads 3"}) {
    const Result result = nsatune(folder, arguments);
    INFO(arguments << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.out.empty());
  }
}

TEST_CASE("reads are those of the attention and the branches that ran", "[cli]") {
  const Folder folder;
  const auto reads = [&](const std::string& flags) {
    const Result run =
        nsatune(folder, "run --preset tiny --seq-len 1100 --layers 1 --steps 1 --json -q " + flags);
    const Json telemetry = json_of(run, "run_result")["telemetry"];
    return std::pair(telemetry["reads_pred"].get<int>(), telemetry["reads_act"].get<int>());
  };
  CHECK(reads("") == std::pair(67 + 1024 + 512, 67 + 1024 - 52 + 512));
  CHECK(reads("--attention dense") == std::pair(1100, 1100));
  CHECK(reads("--branches cmp") == std::pair(67, 67));
  CHECK(reads("--branches sel") == std::pair(1024, 1024 - 52));
  CHECK(reads("--branches win,cmp") == std::pair(67 + 512, 67 + 512));
}

TEST_CASE("reports keep to the width of the terminal", "[cli]") {
  const Folder folder;
  folder.write("spec.json", R"({"schema_version": 1, "name": "one", "policy": {"samples": 1,
    "min_rounds": 1, "max_rounds": 1, "processes": 1, "refine": false}, "families": [{"name": "a",
    "base": {}, "axes": {"seq_len": [32, 64]}, "stages": ["ranges"]}]})");
  REQUIRE(nsatune(folder, "sweep spec.json -q").exit_code == 0);
  for (const char* report : {"report selection --tokens 128 --alike 0.9", "report scaling"}) {
    const Result result = nsatune(folder, report, "COLUMNS=60");
    INFO(result.out << result.err);
    CHECK(result.out.size() > 60);
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 60);
  }
}

}  // namespace nsa::test
