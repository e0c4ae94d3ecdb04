// tune --emit and explain --env-file, as a user runs them.
#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "played_rows.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kSpec = R"({
  "schema_version": 1, "name": "small", "stages": ["ranges", "attend_selected", "gate_combine"],
  "policy": {"samples": 1, "processes": 2, "min_rounds": 2, "max_rounds": 4, "cold": false,
             "refine": false},
  "families": [{"name": "small", "base": {"seq_lens": [64], "context_lens": [0], "q_heads": 4,
    "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8, "cmp_stride": 4,
    "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
    "axes": {"seq_len": [64, 128, 256, 512]}}]})";
constexpr const char* kYaml =
    "model: {dim: 64, n_layers: 1, n_heads: 4, n_kv_groups: 2, d_k: 16, d_v: 16}\n"
    "nsa: {l: 8, d: 4, l_sel: 8, n_sel: 4, w: 16}\n"
    "runtime:\n  precision: fp32  # ours\n  fa2_min_len_win: -1  # off\n"
    "train: {seq_len: 64, batch_size: 1}\n";

Folder& swept() {
  static Folder folder;
  static const bool done = [] {
    folder.write("users.yaml", kYaml);
    add_played_rows(folder, kSpec,
                    {world_of("ranges", "ranges_v1", "ranges_v2", 100),
                     world_of("attend_selected", "masked", "packed", 200),
                     world_of("gate_combine", "three_steps", "gate_fused", 100)});
    REQUIRE(nsatune(folder, "tune -o table.json").exit_code == 0);
    return true;
  }();
  REQUIRE(done);
  return folder;
}

std::string text_of(const Folder& folder, const std::string& name) {
  std::stringstream text;
  text << std::ifstream(folder.file(name)).rdbuf();
  return text.str();
}

/// NSA_ variables of a shell that has sourced the file.
std::map<std::string, std::string> sourced(const Folder& folder, const std::string& name) {
  const std::string command =
      "env -i sh -c 'set -a; . " + folder.file(name) + "; set +a; env' | grep ^NSA_";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::map<std::string, std::string> values;
  std::array<char, 4096> line;
  while (std::fgets(line.data(), line.size(), pipe)) {
    const std::string entry(line.data());
    const std::size_t equals = entry.find('=');
    values[entry.substr(0, equals)] = entry.substr(equals + 1, entry.size() - equals - 2);
  }
  pclose(pipe);
  return values;
}

}  // namespace

TEST_CASE("an env file is what a shell sources, and the same as the document", "[cli]") {
  Folder& folder = swept();
  const Json document = json_of(
      nsatune(folder, "tune --emit env --for nsa-vibe --config users.yaml -o nsa.env --json"),
      "emitted");
  CHECK(document["stand_ins"] == true);
  const auto values = sourced(folder, "nsa.env");
  CHECK(values.size() == document["values"].size());
  CHECK(values.contains("NSA_SEL_RANGES_V2"));
  // masked won at every length, but its work grows faster, and a switch has no end: it is for the
  // lengths of the config, and without any it is not.
  CHECK(values.at("NSA_FORCE_SEL_MASK") == "1");
  CHECK(text_of(folder, "nsa.env").find("for lengths up to seq_len") != std::string::npos);
  REQUIRE(nsatune(folder, "tune --emit env --for nsa-vibe -o any_length.env").exit_code == 0);
  CHECK_FALSE(sourced(folder, "any_length.env").contains("NSA_FORCE_SEL_MASK"));
  CHECK(values.contains("NSA_GATE_COMPILE"));
  for (const auto& [name, value] : values) CHECK(document["values"][name] == value);
}

TEST_CASE("a direction asks for a class, as every flag of a shape does", "[cli]") {
  Folder& folder = swept();
  const std::string emit = "tune --emit env --for nsa-vibe -o of_a_direction.env ";
  CHECK(nsatune(folder, emit).exit_code == 0);  // the only class that there is
  const Result refused = nsatune(folder, emit + "--direction backward");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--emit: nothing was decided for backward") != std::string::npos);
  std::istringstream said(nsatune(folder, emit, "COLUMNS=60").out);
  for (std::string line; std::getline(said, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 60);
  }
}

TEST_CASE("explain reads an env file and not the environment, and says what runs there", "[cli]") {
  Folder& folder = swept();
  folder.write("own.env", "# ours\nNSA_SEL_RANGES_V2=0\nNSA_USE_SEL_PACK=0\n");
  const Json seen = json_of(nsatune(folder,
                                    "explain --no-thresholds --config users.yaml --env-file "
                                    "own.env --for nsa-vibe --json",
                                    "NSA_FORCE_SEL_MASK=1"),
                            "explain");
  std::set<std::string> names;
  for (const Json& name : seen["names"]) names.insert(name["name"]);
  CHECK(names == std::set<std::string>{"NSA_FA2_MIN_LEN_WIN", "NSA_SEL_RANGES_V2",
                                       "NSA_USE_SEL_PACK"});  // the first is the config's
  std::map<std::string, std::string> paths;
  for (const Json& stage : seen["project"]["stages"]) paths[stage["stage"]] = stage["path"];
  CHECK(paths["ranges"] == "v1");
  CHECK(paths["attend_selected"] == "_sdpa_over_ranges");
  CHECK(paths["attend_window"] == "sdpa");
  const Result text = nsatune(folder, "explain --no-thresholds --env-file own.env --for nsa-vibe");
  CHECK(text.out.find("in nsa-vibe") != std::string::npos);
}

TEST_CASE("explain names the variable that decides in the other program, and warns once", "[cli]") {
  Folder& folder = swept();
  folder.write("own.env",
               "NSA_USE_FA2=1\nNSA_FA2_MIN_LEN_WIN=-1\nNSA_FA2_MIN_LEN_CMP=4096\n"
               "NSA_ALLOW_SLIDING_FA2=1\nNSA_PREFILL_BATCHED=1\nNSA_NO_SUCH=1\n");
  const auto why = [&](const std::string& flags) {
    const Json seen = json_of(nsatune(folder,
                                      "explain --no-thresholds --env-file own.env --for "
                                      "nsa-vibe --json " +
                                          flags),
                              "explain");
    std::map<std::string, std::string> by_stage;
    for (const Json& stage : seen["project"]["stages"]) by_stage[stage["stage"]] = stage["why"];
    return by_stage;
  };
  auto said = why("--dtype bf16 --seq-len 2048");
  CHECK(said["attend_window"] == "NSA_FA2_MIN_LEN_WIN=-1");
  CHECK(said["attend_compressed"] == "NSA_FA2_MIN_LEN_CMP=4096; the length here is 127");
  folder.write("own.env",
               "NSA_USE_FA2=1\nNSA_ALLOW_SLIDING_FA2=1\nNSA_PREFILL_BATCHED=1\n"
               "NSA_NO_SUCH=1\n");
  said = why("--dtype fp32 --seq-len 2048");
  CHECK(said["attend_window"] == "its FlashAttention-2 takes bf16 and fp16 only");
  CHECK(why("--dtype bf16 --seq-len 8")["attend_window"] ==
        "NSA_FA2_MIN_LEN_WIN=16 (default); the length here is 8");
  for (const char* quiet : {"", " -q"}) {
    const Result text =
        nsatune(folder, std::string("explain --no-thresholds --env-file own.env") + quiet);
    const std::string all = text.out + text.err;
    CHECK(all.find("warning: NSA_NO_SUCH") != std::string::npos);
    CHECK(all.find("warning: NSA_NO_SUCH") == all.rfind("warning: NSA_NO_SUCH"));
  }
}

TEST_CASE("a patched YAML differs in the values of its keys only", "[cli]") {
  Folder& folder = swept();
  folder.write("gpu.yaml", kYaml);
  const Result result =
      nsatune(folder, "tune --emit yaml --for nsa-vibe --config gpu.yaml -o patched.yaml");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(text_of(folder, "patched.yaml") == kYaml);  // fp32 leaves its keys alone
  CHECK(result.err.find("nsa-vibe has no key for ") != std::string::npos);
  CHECK(result.err.find("NSA_SEL_RANGES_V2=") != std::string::npos);
}

TEST_CASE("a thresholds file can be emitted without a database", "[cli]") {
  Folder& folder = swept();
  const Result result = nsatune(
      folder, "tune --db none.sqlite --from table.json --emit json --for nsa-vibe -o e.json");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const Json document = parse_json(text_of(folder, "e.json"), "e.json");
  validate_json(document, "emitted", "e.json");
  CHECK(document["source"].get<std::string>().starts_with("table.json"));
}

TEST_CASE("what cannot be emitted is one line, exit 2, and no file", "[cli]") {
  Folder& folder = swept();
  folder.write("bad.env", "NSA_USE_FA2\n");
  folder.write("bad.yaml", "runtime: [1\n");
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    const Result result = nsatune(folder, arguments);
    INFO(arguments << "\n" << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(part) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.file("no.env")));
  };
  refused("tune --emit env -o no.env", "--emit: needs --for");
  refused("tune --emit env --for other -o no.env", "--for: other is not a project");
  refused("tune --emit toml --for nsa-vibe -o no.env", "--emit");
  refused("tune --for nsa-vibe -o no.env", "go with --emit");
  refused("tune --dtype bf16 -o no.env", "go with --emit");
  refused("tune --emit yaml --for nsa-vibe -o no.env", "--emit yaml: needs --config");
  refused("tune --emit yaml --for nsa-vibe --config bad.yaml -o no.env", "bad.yaml:");
  refused("tune --emit env --for nsa-vibe --dtype bf16 -o no.env", "nothing was decided for forw");
  refused("tune --emit env --for nsa-vibe --from missing.json -o no.env", "missing.json");
  refused("tune --emit env --for nsa-vibe --from table.json --executor x -o no.env",
          "--executor: does not go with --from");
  refused("tune --emit env --for nsa-vibe --executor x -o no.env", "no measurements of it");
  refused("tune --emit env --for nsa-vibe --shipped table.json -o no.env", "does not go with --em");
  refused("explain --env-file bad.env", "bad.env:1: expected NAME=value");
  refused("explain --env-file missing.env", "missing.env");
  refused("explain --for other", "--for: other is not a project");
}

TEST_CASE("several classes are listed, and a flag of the shape chooses one", "[cli]") {
  Folder& folder = swept();
  Json table = parse_json(text_of(folder, "table.json"), "table.json");
  Json second = table["classes"][0];
  second["problem_class"]["dtype"] = "bf16";
  table["classes"].push_back(second);
  folder.write("two.json", table.dump());
  const std::string emit = "tune --from two.json --emit env --for nsa-vibe -o two.env ";
  const Result several = nsatune(folder, emit);
  CHECK(several.exit_code == 2);
  CHECK(several.err.find("writes one class and 2 are decided") != std::string::npos);
  CHECK(several.err.find("forward prefill bf16") != std::string::npos);
  CHECK(nsatune(folder, emit + "--config users.yaml --dtype bf16").exit_code == 0);
  CHECK(text_of(folder, "two.env").find("bf16") != std::string::npos);
}

}  // namespace nsa::test
