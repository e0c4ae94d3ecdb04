// A worker of somebody else through the whole program: sweep, tune, explain.
#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {
namespace {

/// A worker in Python without any library: `mine` takes 2 ms and `twice` double that, on two
/// stages, of which one is none of ours. It does not verify.
constexpr const char* kWorker = R"py(
import json, sys, time
DEVICE = {"id": "npu:0", "backend": "cpu", "name": "Fictional NPU", "driver": "7.1"}
HELLO = {"type": "hello", "protocol": 1, "worker": "test 1", "executor": "mytool",
         "verifies": False, "device": DEVICE,
         "variants": [{"stages": [s], "name": n, "order": {"seq_len": o}}
                      for s in ("attend_selected", "my_stage") for n, o in (("mine", 1), ("twice", 2))]}
HELLO.update(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
names = {}
def measure(r):
    samples = []
    for _ in range(r["samples"]):
        start = time.monotonic_ns()
        time.sleep(.004 if names[r["handle"]] == "twice" else .002)
        took = time.monotonic_ns() - start
        samples.append({"start_ns": start, "device_ns": took, "host_ns": took})
    return {"type": "measured", "samples": samples}
def prepare(r):
    names[r["id"]] = r["variant"]["name"]
    return {"type": "prepared", "handle": r["id"], "first_call_ns": 2000000}
answers = {"hello": lambda r: HELLO, "prepare": prepare, "measure": measure,
           "release": lambda r: {"type": "released"}}
for line in sys.stdin:
    r = json.loads(line)
    if r["type"] == "bye":
        break
    bad = {"type": "failed", "status": "bad_request", "reason": "what is " + r["type"] + "?"}
    print(json.dumps({**answers.get(r["type"], lambda r: bad)(r), "id": r.get("id", 0)}), flush=True)
)py";

// Without the noise gate: tests run side by side.
constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "small",
  "policy": {"samples": 1, "processes": 2, "min_rounds": 1, "max_rounds": 1, "cold": false,
             "noise_gate": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 96]}, "stages": ["attend_selected"], "variants": ["masked"]}]})";

constexpr const char* kShape = " --config model.yaml --seq-len 96";

/// A folder with the worker, a spec and the shape of its problems.
void fill(const Folder& folder) {
  folder.write("w.py", kWorker);
  folder.write("small.json", kSpec);
  folder.write("model.yaml",
               "model: {dim: 32, n_layers: 1, n_heads: 4, n_kv_groups: 2, d_k: 16, d_v: 16}\n"
               "nsa: {l: 8, d: 4, l_sel: 8, n_sel: 4, w: 16}\nruntime: {precision: fp32}\n");
}

std::string sweep(const std::string& hello = "{}") {
  return "sweep small.json --new --worker \"python3 w.py '" + hello + "'\"";
}

}  // namespace

TEST_CASE("a spec covers a foreign worker's stages, and tune decides for it alone", "[cli]") {
  const Folder folder;
  fill(folder);
  const Json plan = json_of(nsatune(folder, sweep() + " --dry-run --json"), "sweep_plan");
  CHECK(plan["contests"].size() == 4);  // two stages, two lengths
  const Result swept = nsatune(folder, sweep());
  INFO(swept.err);
  REQUIRE(swept.exit_code == 0);
  const Result tuned = nsatune(folder, "tune --unverified -o t.json");
  INFO(tuned.err);
  REQUIRE(tuned.exit_code == 0);
  CHECK(contains(tuned.err, "note: decided for mytool: all rows are of it"));
  const ThresholdTable table = load_thresholds(folder.file("t.json"));
  CHECK(table.executor == "mytool");
  CHECK(table.device.name == "Fictional NPU");
  CHECK(table.device.id == "npu:0");
  CHECK_FALSE(table.device.multiprocessors.has_value());
  CHECK(table.validators.device_name == "Fictional NPU");
  CHECK(table.validators.driver == "7.1");
  CHECK(table.validators.compiler.empty());
  CHECK(table.validators.multiprocessors.empty());
  REQUIRE(table.classes.size() == 1);
  REQUIRE(table.classes[0].decisions.size() == 2);
  for (const Decision& decision : table.classes[0].decisions)
    CHECK(decision.ranges.at(0).variant.name == "mine");

  const Json explained =
      json_of(nsatune(folder, std::string("explain t.json --json") + kShape), "explain");
  CHECK(explained["executor"] == "mytool");
  CHECK(explained["device"]["name"] == "Fictional NPU");
  REQUIRE(explained["decisions"].size() == 2);
  CHECK(explained["decisions"][0]["variant"] == "attend_selected/mine");
  CHECK(explained["decisions"][1]["variant"] == "my_stage/mine");
  const Result text = nsatune(folder, std::string("explain t.json") + kShape);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "my_stage/mine"));
  CHECK(contains(text.err, "this program cannot run them"));
  // What is in doubt, and which lengths a range is for, is said here as for rows of ours.
  ThresholdTable doubted = table;
  Decision& decision = doubted.classes[0].decisions[0];
  decision.ranges[0].basis = Basis::undecided;
  decision.ranges[0].evidence.why = "noise hides which is best";
  doubted.classes[0].decisions[1].alignment = {.multiple = 2,
                                               .ranges = doubted.classes[0].decisions[1].ranges};
  folder.write("doubted.json", dump_thresholds(doubted));
  const Result doubts = nsatune(folder, std::string("explain doubted.json") + kShape);
  CHECK(contains(doubts.out, "undecided: noise hides which is best"));
  CHECK(contains(doubts.out, "for multiples of 2"));
  CHECK(json_of(nsatune(folder, std::string("explain doubted.json --json") + kShape),
                "explain")["decisions"][0]["basis"] == "undecided");
  const Result other = nsatune(folder, "explain t.json --preset tiny");
  CHECK(other.exit_code == 3);
  CHECK(contains(other.err, "decides nothing for forward prefill"));
}

TEST_CASE("tune takes ours beside a foreign executor, and asks which of several foreign ones",
          "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, sweep() + " --stage attend_selected --with-ours").exit_code == 0);
  REQUIRE(nsatune(folder, "tune -o ours.json").exit_code == 0);
  const ThresholdTable ours = load_thresholds(folder.file("ours.json"));
  CHECK(ours.executor == "nsatune");
  CHECK(ours.device.id == "cpu");
  CHECK_FALSE(ours.validators.compiler.empty());
  REQUIRE(nsatune(folder, "tune --executor mytool --unverified -o theirs.json").exit_code == 0);
  CHECK(load_thresholds(folder.file("theirs.json")).device.name == "Fictional NPU");

  const std::string db = " --db two.sqlite";
  REQUIRE(nsatune(folder, sweep() + db).exit_code == 0);
  REQUIRE(nsatune(folder, sweep(R"({\"executor\": \"other\"})") + db).exit_code == 0);
  const Result which = nsatune(folder, "tune --unverified -o which.json" + db);
  CHECK(which.exit_code == 2);
  CHECK(contains(which.err, "executors mytool, other; choose one: --executor mytool"));
  CHECK_FALSE(std::filesystem::exists(folder.file("which.json")));
}

TEST_CASE("a simulated device says so in its file and in tune", "[cli]") {
  const Folder folder;
  fill(folder);
  REQUIRE(nsatune(folder, sweep(R"({\"simulated\": true})")).exit_code == 0);
  const Result tuned = nsatune(folder, "tune --unverified -o t.json");
  REQUIRE(tuned.exit_code == 0);
  CHECK(
      contains(tuned.err, "Fictional NPU (simulated): the worker says that its clock is virtual"));
  CHECK(load_thresholds(folder.file("t.json")).device.name == "Fictional NPU (simulated)");
}

TEST_CASE("a worker may neither take our name nor a terminal", "[cli]") {
  const Folder folder;
  fill(folder);
  const Result named = nsatune(folder, sweep(R"({\"executor\": \"NSAtune\"})"));
  CHECK(named.exit_code == 2);
  CHECK(contains(named.err, "calls itself 'NSAtune'"));
  // Nor one that looks like it: blanks, what is not seen, wide letters.
  for (const char* alike :
       {"nsatune ", " nsatune", "nsatune\\t", "nsa\\u200btune", "\\ufeffnsatune", "nsatune\\u0007",
        "nsatune\\u00a0", "nsa\\u00adtune", "\\uff4esatune"}) {
    INFO(alike);
    const Result taken =
        nsatune(folder, sweep(std::string(R"({\"executor\": \")") + alike + R"(\"})"));
    CHECK(taken.exit_code == 2);
    CHECK(contains(taken.err, "which is the executor of this program"));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));

  const std::string escapes =
      R"({\"executor\": \"\\u001b[2Je\\u202e\", \"worker\": \"\\u009b1m\"})";
  const Result swept = nsatune(folder, sweep(escapes) + " --json");
  REQUIRE(swept.exit_code == 0);
  json_of(swept, "sweep_result");
  const Result tuned = nsatune(folder, "tune --unverified -o t.json");
  const std::string file = read_text_file(folder.file("t.json"));
  for (const std::string& text : {swept.out, swept.err, tuned.out, tuned.err, file}) {
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\xe2\x80\xae"));
  }
  CHECK(load_thresholds(folder.file("t.json")).executor == "\\x1b[2Je\\u202e");
}

TEST_CASE("an error quotes the worker's command as it was typed", "[cli]") {
  const Folder folder;
  fill(folder);
  const Result gone = nsatune(folder, "sweep small.json --worker 'python3 gone.py'");
  INFO(gone.err);
  CHECK(gone.exit_code != 0);
  CHECK(contains(gone.err, "worker 'python3 gone.py'"));
}

TEST_CASE("the worker of docs/workers.md is measured as it stands there", "[cli]") {
  const std::string text = read_text_file(NSA_SOURCE_DIR "/docs/workers.md");
  const std::string fence = "```python\n";
  const std::size_t begin = text.find(fence) + fence.size(), end = text.find("```", begin);
  REQUIRE(end != std::string::npos);
  const Folder folder;
  fill(folder);
  folder.write("mine.py", text.substr(begin, end - begin));
  const Json swept = json_of(nsatune(folder, "sweep small.json --json --worker 'python3 mine.py'"),
                             "sweep_result");
  CHECK(swept["complete"] == true);
  CHECK(swept["failures"] == 0);
  CHECK(swept["unsupported"] == 0);
  CHECK(nsatune(folder, "tune --unverified -o mine.json").exit_code == 0);
}

TEST_CASE("a stage that nobody brings is a slip of the pen", "[cli]") {
  const Folder folder;
  fill(folder);
  const Result r = nsatune(folder, sweep() + " --stage my_stag");
  CHECK(r.exit_code == 2);
  CHECK(contains(r.err, "--stage my_stag: no worker has it; there are attend_selected, my_stage"));
  const Result none = nsatune(folder, sweep(R"({\"variants\": []})") + " --stage my_stage");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.err, "--stage my_stage: no worker has it; they have no variant at all\n"));
}

}  // namespace nsa::test
