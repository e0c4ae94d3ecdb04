// verify through the real program: a world that stayed as it was, and one that changed.
#include "catch.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "played", "policy": {"samples": 1, "processes": 2, "min_rounds": 3,
  "max_rounds": 4, "cold": false, "deadline_s": 3, "refine": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 128, 256, 512, 1024]}}]})";

/// Two lines that cross at `crossing` tokens, and more of the second variant.
std::string world(int seed, int crossing, const std::string& of_late = "") {
  const std::string number = std::to_string(seed);
  return R"({"schema_version": 1, "seed": )" + number +
         R"(, "executor": "sim", "stages": ["attend_selected"], "state": "w)" + number +
         R"(.state", "noise": {"white_sigma": 0.005}, "variants": [
    {"name": "line", "order": {"seq_len": 1},
     "time": {"launch_ns": 10000, "terms": [{"ns": 100, "order": 1}]}},
    {"name": "late", "order": {"seq_len": 1},
     "time": {"relative_to": "line", "slope_percent": -10, "crossings": [)" +
         std::to_string(crossing) + "]}" + of_late + "}]}";
}

/// t.json of a folder, decided in the world of world.json.
void sweep_and_tune(const Folder& folder, const std::string& sweep) {
  const std::string alone = "NSATUNE_LOCK_DIR=" + folder.path().string();
  REQUIRE(nsatune(folder,
                  "sweep " + sweep +
                      " -q --db a.sqlite --worker '" NSATUNE_PROGRAM " worker-sim world.json'",
                  alone)
              .exit_code == 0);
  REQUIRE(nsatune(folder, "tune --unverified -q --db a.sqlite -o t.json").exit_code == 0);
}

/// A folder with t.json, decided in a world whose two variants cross at 250 tokens.
void tune_in(const Folder& folder, const std::string& sweep = "spec.json") {
  folder.write("spec.json", kSpec);
  folder.write("world.json", world(1, 250));
  sweep_and_tune(folder, sweep);
}

/// Time of all launches that a database has rows of.
double launched_ns(const Folder& folder, const std::string& database) {
  const store::Store db = store::Store::open_existing(folder.file(database));
  double sum_ns = 0;
  db.for_each_measurement({.with_samples = true}, [&](const Measurement& row) {
    for (const Sample& sample : row.samples) sum_ns += static_cast<double>(sample.device_ns);
  });
  return sum_ns;
}

Result verified(const Folder& folder, const std::string& more = "") {
  return nsatune(folder,
                 "verify t.json --db b.sqlite --json --worker '" NSATUNE_PROGRAM
                 " worker-sim now.json' " +
                     more,
                 "NSATUNE_LOCK_DIR=" + folder.path().string());
}

}  // namespace

TEST_CASE("a file holds in the world that it was decided in", "[cli]") {
  const Folder folder;
  tune_in(folder);
  folder.write("now.json", world(2, 250));
  const Json plan = json_of(verified(folder, "--dry-run"), "sweep_plan");
  CHECK(plan["device"] == load_thresholds(folder.file("t.json")).device.id);
  CHECK(plan["contests"].size() >= 4);
  const Result result = verified(folder);
  CHECK(result.exit_code == 0);
  const Json document = json_of(result, "verify_result");
  CHECK(document["holds"] == true);
  CHECK(document["decided"] >= 4);
  CHECK(document["mean_regret"] < 0.005);
  CHECK(document["reasons"].empty());
  const Json other = json_of(verified(folder, "--seed 2"), "verify_result");
  CHECK(other["trials"][0]["at"] != document["trials"][0]["at"]);
}

TEST_CASE("only places that did not fit the budget are left out for it", "[cli]") {
  const Folder folder;
  tune_in(folder, "quick --stage attend_selected --axis seq_len=128,512,4096,32768");
  folder.write("now.json", world(2, 250));
  const Json all = json_of(verified(folder, "--budget 10m"), "verify_result");
  CHECK(all["left_out"] == 0);
  // A core is guessed to take minutes for the longer ones; the world's clock is virtual.
  const Json quick = json_of(verified(folder, "--budget 5s"), "verify_result");
  CHECK(quick["left_out"] == 0);
  CHECK(quick["trials"].size() == all["trials"].size());

  folder.write("slow.sh", "sleep 0.5; exec '" NSATUNE_PROGRAM "' worker-sim now.json\n");
  const Json slow = json_of(nsatune(folder,
                                    "verify t.json --db b.sqlite --json --budget 4s --worker "
                                    "'sh slow.sh'",
                                    "NSATUNE_LOCK_DIR=" + folder.path().string()),
                            "verify_result");
  CHECK(slow["left_out"] > 0);
  CHECK(slow["trials"].size() > 0);
  CHECK(slow["left_out"].get<std::size_t>() + slow["trials"].size() == all["trials"].size());
  CHECK(slow["wall_s"] < 7);  // what is measured may end, and a process may be started
}

TEST_CASE("a file no longer holds where the crossing moved, and says where", "[cli]") {
  const Folder folder;
  tune_in(folder);
  folder.write("now.json", world(3, 900));
  const Result result = verified(folder);
  CHECK(result.exit_code == 1);
  const Json document = json_of(result, "verify_result");
  CHECK(document["holds"] == false);
  CHECK(document["interval"][0] > 0.01);
  CHECK(document["reasons"].size() >= 1);
}

TEST_CASE("verify takes a tenth of what the tuning took, and tries no longer length", "[cli]") {
  const Folder folder;
  folder.write("spec.json", R"({
  "schema_version": 1, "name": "long", "policy": {"samples": 1, "processes": 2, "min_rounds": 3,
  "max_rounds": 8, "cold": false, "race": true},
  "families": [{"name": "l", "axes": {"seq_len": [128, 181, 256, 362, 512, 724, 1024, 1448, 2048,
    2896, 4096, 5793, 8192, 16384, 32768]}}]})");
  folder.write("world.json", world(8, 1500));
  sweep_and_tune(folder, "spec.json");
  const double tuning_ns = launched_ns(folder, "a.sqlite");
  for (const char* seed : {"1", "2", "3"}) {
    folder.write("now.json", world(9, 1500));
    const Json document = json_of(verified(folder, std::string("--seed ") + seed), "verify_result");
    CHECK(document["holds"] == true);
    CHECK(document["decided"] >= 4);
    for (const Json& trial : document["trials"]) CHECK(trial["at"] <= 32768);
    CHECK(launched_ns(folder, "b.sqlite") < 0.1 * tuning_ns);
    std::filesystem::remove(folder.file("b.sqlite"));
  }
}

TEST_CASE("a choice that crashes now is a reason, whatever it was worth", "[cli]") {
  const Folder folder;
  tune_in(folder);
  folder.write("now.json", world(4, 250, R"(, "faults": [{"kind": "crash"}])"));
  const Result result = verified(folder);
  CHECK(result.exit_code == 1);
  const Json document = json_of(result, "verify_result");
  CHECK(document["failures"] >= 1);
}

TEST_CASE("a choice that the worker has not any more is a reason", "[cli]") {
  const Folder folder;
  tune_in(folder);
  Json now = Json::parse(world(6, 250));
  now["variants"][1]["name"] = "other";
  folder.write("now.json", now.dump());
  const Result result = verified(folder);
  CHECK(result.exit_code == 1);
  const Json document = json_of(result, "verify_result");
  CHECK(document["failures"] >= 1);
  CHECK(document["reasons"].dump().find("does not offer it any more") != std::string::npos);
  // Nor can it be overlooked where no place of it was measured.
  CHECK(json_of(verified(folder, "--budget 0.000001s"), "verify_result")["exit_code"] == 1);
}

TEST_CASE("a choice whose worker runs other code now is a reason", "[cli]") {
  const Folder folder;
  const auto world_of = [](int seed, const std::string& hash) {
    Json world_json = Json::parse(world(seed, 250));
    world_json["variants"][1]["source_hash"] = hash;
    return world_json.dump();
  };
  folder.write("spec.json", kSpec);
  folder.write("world.json", world_of(1, "aaa"));
  sweep_and_tune(folder, "spec.json");
  folder.write("now.json", world_of(2, "aaa"));
  CHECK(verified(folder).exit_code == 0);
  folder.write("now.json", world_of(2, "zzz"));
  const Result result = verified(folder);
  CHECK(result.exit_code == 1);
  const Json reasons = json_of(result, "verify_result")["reasons"];
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].get<std::string>().find("other code") != std::string::npos);
}

TEST_CASE("a choice that the worker refuses now between its measured lengths is a reason",
          "[cli]") {
  const Folder folder;
  tune_in(folder);
  folder.write("now.json", world(7, 250, R"(, "faults": [{"kind": "refuse"}])"));
  const Result result = verified(folder);
  CHECK(result.exit_code == 1);
  CHECK(json_of(result, "verify_result")["failures"] >= 1);
}

namespace {

/// t.json of a folder with its ranges from `first` on undecided, as a noisy sweep leaves them.
void leave_undecided(const Folder& folder, std::size_t first) {
  Json table = parse_json(read_text_file(folder.file("t.json")), "t.json");
  Json& ranges = table["classes"][0]["decisions"][0]["ranges"];
  REQUIRE(ranges.size() >= 2);
  for (std::size_t r = first; r < ranges.size(); ++r) {
    ranges[r]["basis"] = "undecided";
    ranges[r]["evidence"]["why"] = "noise hides which is best";
  }
  folder.write("t.json", table.dump());
}

}  // namespace

TEST_CASE("an undecided range states nothing: it is left out, and said to be", "[cli]") {
  const Folder folder;
  tune_in(folder);
  leave_undecided(folder, 1);
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  const std::int64_t from = table.classes[0].decisions[0].ranges[1].from;
  const auto left = std::ssize(table.classes[0].decisions[0].ranges) - 1;
  folder.write("now.json", world(3, 900));  // what runs there now loses
  const Json document = json_of(verified(folder), "verify_result");
  CHECK(document["undecided"] == left);
  CHECK(document["decided"] > 0);
  CHECK(document["reasons"].empty());
  for (const Json& trial : document["trials"]) CHECK(trial["at"] < from);
  const Result text = nsatune(
      folder, "verify t.json --db b.sqlite --worker '" NSATUNE_PROGRAM " worker-sim now.json'",
      "NSATUNE_LOCK_DIR=" + folder.path().string());
  INFO(text.out);
  CHECK(text.out.find("; " + std::to_string(left) + " undecided range") != std::string::npos);

  leave_undecided(folder, 0);
  const Result nothing = nsatune(
      folder, "verify t.json --db b.sqlite --worker '" NSATUNE_PROGRAM " worker-sim now.json'",
      "NSATUNE_LOCK_DIR=" + folder.path().string());
  INFO(nothing.out);
  CHECK(nothing.exit_code == 3);
  CHECK(nothing.out.find("no place in its ranges was judged") != std::string::npos);
  CHECK(nothing.out.find("all its ranges are undecided") != std::string::npos);
  CHECK(nothing.out.find("0.00 %") == std::string::npos);
}

TEST_CASE("a budget is spent on each range first, and beyond them last", "[cli]") {
  const Folder folder;
  tune_in(folder);
  const Decision decision = load_thresholds(folder.file("t.json")).classes.at(0).decisions.at(0);
  folder.write("now.json", world(2, 250));
  const Json plan = json_of(verified(folder, "--dry-run"), "sweep_plan");
  const auto range_of = [&](const Json& contest) {
    const std::int64_t at = contest["problem"]["seq_lens"][0];
    for (std::size_t r = 0; r < decision.ranges.size(); ++r) {
      const ThresholdRange& range = decision.ranges[r];
      if (range.from <= at && (!range.to || at < *range.to)) return static_cast<int>(r);
    }
    return -1;
  };
  std::vector<int> places;
  for (const Json& contest : plan["contests"]) places.push_back(range_of(contest));
  REQUIRE(places.size() > 3);
  CHECK(places[0] >= 0);
  CHECK(places[1] >= 0);
  CHECK(places[0] != places[1]);
  CHECK(std::ranges::is_sorted(places, {}, [](int range) { return range < 0; }));
}

TEST_CASE("a file of another device is exit 4, whatever the device", "[cli]") {
  const Folder folder;
  Json table = parse_json(read_text_file(NSA_SOURCE_DIR "/kernels/tuned/nvidia_h200.json"), "h200");
  folder.write("gpu.json", table.dump());
  table["device"] = {{"id", "cpu"},
                     {"uuid", "cpu-other"},
                     {"name", "Another CPU"},
                     {"backend", "cpu"},
                     {"memory_bytes", 1 << 30}};
  folder.write("cpu.json", table.dump());
  for (const char* arguments : {"verify cpu.json", "verify gpu.json --device cpu"}) {
    const Result result = nsatune(folder, arguments);
    INFO(arguments << ": " << result.err);
    CHECK(result.exit_code == 4);
    CHECK(result.err.find("verify it where it is used") != std::string::npos);
  }
}

TEST_CASE("what cannot be verified here is one line and an exit code", "[cli]") {
  const Folder folder;
  tune_in(folder);
  folder.write("now.json", world(5, 250));
  CHECK(nsatune(folder, "verify t.json").exit_code == 2);  // whose variants?
  CHECK(nsatune(folder, "verify nowhere.json").exit_code == 2);
  CHECK(verified(folder, "--budget nonsense").exit_code == 2);
  const Result nothing = verified(folder, "--budget 0.000001s");
  CHECK((nothing.exit_code == 3 || nothing.exit_code == 2));
}

}  // namespace nsa::test
