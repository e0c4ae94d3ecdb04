#include <algorithm>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {
namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// One line on stderr that holds `word`, nothing on stdout, exit 2.
void check_refused(const std::string& arguments, const std::string& word,
                   const std::string& environment = "") {
  const Folder folder;
  const Result r = nsatune(folder, arguments, environment);
  INFO(arguments << ": " << r.err);
  CHECK(r.exit_code == 2);
  CHECK(r.out.empty());
  CHECK(lines_of(r.err) == 1);
  CHECK(r.err.find(word) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

}  // namespace

TEST_CASE("a name of a file that leads nowhere is the user's mistake, no defect", "[cli]") {
  const Folder folder;
  std::filesystem::create_symlink("loop", folder.file("loop"));
  for (const std::string& name : {std::string("loop"), std::string(300, 'a')}) {
    const Result r =
        nsatune(folder, "bisect step --step 0.07 --good " + name + " --candidate . --measure true");
    CAPTURE(r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.err.starts_with("nsatune: " + name + ": "));
  }
}

TEST_CASE("bad flags are one line and exit 2, and nothing is written", "[cli]") {
  check_refused("nonsense", "no command 'nonsense'");
  check_refused("swep", "did you mean sweep?");
  check_refused("db inof", "did you mean info?");
  check_refused("sweep nonsense", "nonsense");
  check_refused("sweep missing.json", "missing.json");
  check_refused("sweep --axis colour=blue", "colour");
  check_refused("sweep --budget yesterday", "yesterday");
  check_refused("sweep --budget 30s2m", "30s2m");
  check_refused("sweep --budget 7m30", "7m30");
  check_refused("sweep --budget 0s", "0s");
  check_refused("sweep --worker-memory 8X", "8G or 512M");
  check_refused("check --share", "--confirm");
  check_refused("sweep --stage nowhere", "nowhere");
  check_refused("sweep --variant nobody", "nobody");
  check_refused("tune -o t.json", "results.sqlite");
  check_refused("check", "results.sqlite");
  check_refused("check --direction sideways", "sideways");
  check_refused("check --window 0", "--window");
  check_refused("check --format xml", "xml");
  check_refused("check --fail-on everything", "everything");
  check_refused("check --today tomorrow --db none.sqlite", "none.sqlite");
  check_refused("ack", "subcommand");
  check_refused("selftest", "results.sqlite");
  check_refused("power --target 0", "--target");
  check_refused("run --seq-len -3", "-3");
  check_refused("run --layers 13", "--layers");
  check_refused("run --branches cmp,side", "side");
  check_refused("run --config missing.yaml", "missing.yaml");
  check_refused("run --thresholds missing.json", "missing.json");
  check_refused("run --strict --no-telemetry", "--strict");
  check_refused("run --preset 125m --seq-len 8 --batch 1000 --decode 16000000", "--seq-len");
  check_refused("explain missing.json --seq-len 5", "missing.json");
  check_refused("explain --seq-len 4x", "a whole number is expected");
  check_refused("explain --seq-len 1.5", "a whole number is expected");
  check_refused("explain --seqlen 4", "did you mean --seq-len?");
  check_refused("--jsn", "no flag '--jsn'; did you mean --json?");
  check_refused("--devise=cpu", "no flag '--devise'; did you mean --device?");
  check_refused("help swep", "did you mean sweep?");
  check_refused("report matrx", "no command 'matrx'; did you mean matrix?");
  check_refused("sweep quik", "did you mean quick?");
  check_refused("run --preset 124M", "did you mean 125m?");
  check_refused("run --prset tiny", "no flag '--prset'; did you mean --preset?");
  check_refused("sweep --dry --stage ranges", "did you mean --dry-run?");
  check_refused("sweep -strict", "no flag '-strict'; did you mean --strict?");
  check_refused("sweep -x", "no flag '-x' (");
  check_refused("tune -o t.json --direction backward", "go with --emit");
  check_refused("tune --ouput x", "no flag '--ouput'; did you mean --output?");
  check_refused("--version --jsn", "no flag '--jsn'; did you mean --json?");
  check_refused("sweep --stage attend_selcted", "did you mean attend_selected?");
  check_refused("sweep --axis seq_len=128:65536", "128:64k:x2");
  check_refused("tune", "(nsatune help tune lists what it takes)");
  check_refused("ack add --reson x", "(nsatune help ack add lists what it takes)");
  check_refused("sweep --dry-run --axis seq_len=8:4:x2", "the range must ascend");
  check_refused("explain --overlap much", "a number is expected");
  check_refused("explain --context-len -1", "--context-len: -1");
  check_refused("explain --overlap nan", "--overlap");
  check_refused("trace record --end-on-hang -- true", "--hang-after");
  check_refused("doctor /proc/self/environ", "--env-file");
  check_refused("explain --seq-len 99999999999999999999", "seq-len");
  check_refused("export --run 3f2a", "results.sqlite");
  check_refused("db info", "results.sqlite");
  check_refused("export nonsense", "nonsense");
  check_refused("export nsa_vibe", "nsa_vibe");
  check_refused("export header", "--thresholds");
  check_refused("import nonsense f.json", "nonsense");
  check_refused("import nvbench", "FILE");
  check_refused("import nvbench missing.json", "missing.json");
  check_refused("import otava missing.csv --executor nsatune", "--executor");
  check_refused("import otava missing.csv --stage nowhere", "nowhere");
  check_refused("import otava missing.csv --axis seq_len", "--axis");
  check_refused("--color pink devices", "color");
}

TEST_CASE("the spec that a preset and flags make can be written and swept", "[cli]") {
  const Folder folder;
  const std::string flags = "quick --axis seq_len=512 --stage ranges";
  const Result printed = nsatune(folder, "sweep --print-spec " + flags);
  INFO(printed.err);
  REQUIRE(printed.exit_code == 0);
  folder.write("sweep.json", printed.out);
  CHECK(nsatune(folder, "sweep --dry-run sweep.json").out ==
        nsatune(folder, "sweep --dry-run " + flags).out);
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
}

TEST_CASE("a shell completes the commands and flags that there are", "[cli]") {
  const Folder folder;
  const auto completed = [&](const std::string& words) {
    const std::string after = "completion bash > c.sh && bash -c 'source ./c.sh; COMP_WORDS=(" +
                              words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nsatune; echo " +
                              "${COMPREPLY[@]}'";
    return nsatune(folder, after).out;
  };
  CHECK(completed("nsatune swe") == "sweep\n");
  CHECK(completed("nsatune db inf") == "info\n");
  CHECK(completed("nsatune sweep --stri") == "--strict\n");
  CHECK(completed("nsatune memory --chec") != completed("nsatune report memory --chec"));
  CHECK(completed("nsatune help swe") == "sweep\n");
  CHECK(completed("nsatune help db inf") == "info\n");
  CHECK(completed("nsatune completion z") == "zsh\n");
  CHECK(completed("nsatune sweep de") == "default\n");
  CHECK(completed("nsatune run --preset ti") == "tiny\n");
  CHECK(completed("nsatune run --preset = ti") == "tiny\n");  // as bash divides --preset=ti
  CHECK(completed("nsatune tune --emit e") == "env\n");
  CHECK(completed("nsatune tune --color al") == "always\n");
  CHECK(completed("nsatune --color al") == "always\n");
  CHECK(completed("nsatune export --db s") == "\n");  // a file, no command
  CHECK(completed("nsatune sweep --hel") == "--help\n");
  check_refused("completion tcsh", "tcsh");
}

TEST_CASE("fish completes the flags of a command and not those of one with the same name",
          "[cli]") {
  const Folder folder;
  const std::string script = nsatune(folder, "completion fish").out;
  const auto has = [&](const std::string& line) { return contains(script, line); };
  CHECK(has("-n '__nsatune_at nsatune' -a sweep "));
  CHECK(has("-n '__nsatune_at nsatune report memory' -l batches "));
  CHECK_FALSE(has("-n '__nsatune_at nsatune memory' -l batches "));
  CHECK(has("-n '__nsatune_at nsatune run' -l preset -x -a '125m tiny layer paper-layer' "));
  CHECK(has("-n '__nsatune_at nsatune completion' -a 'bash zsh fish' "));
  CHECK(has("-n '__nsatune_at nsatune help db' -a info "));
  CHECK(has("complete -c nsatune -l color -x -a 'auto always never' "));
  CHECK_FALSE(has("-n '__nsatune_at nsatune sweep' -l help "));
  check_refused("completion tcsh", "tcsh");
}

TEST_CASE("flags that contradict each other are refused", "[cli]") {
  check_refused("sweep --new --resume 3f2a", "--new");
  check_refused("sweep --with-ours", "--worker");
  check_refused("run --thresholds t.json --no-thresholds", "--no-thresholds");
  check_refused("explain t.json --no-thresholds", "--no-thresholds");
  check_refused("run --preset tiny --config model.yaml", "--config");
  check_refused("explain --preset tiny --config model.yaml", "--config");
  check_refused("run --attention dense --branches win", "--branches");
}

TEST_CASE("an empty value and a number that would be wrapped or cut are refused", "[cli]") {
  check_refused("run --preset tiny --seq-len ''", "--seq-len: is empty");
  check_refused("sweep quick --variant ''", "--variant: is empty");
  check_refused("--db '' db info", "--db: is empty");
  check_refused("run --preset tiny --seq-len 8 --seed -1", "--seed");
  check_refused("sweep quick --seed -1", "--seed");
  check_refused("tune -o t.json --seed 18446744073709551616", "--seed");
  check_refused("tune -o t.json --margin nan", "--margin");
}

TEST_CASE("a bad resume makes no database, a bad axis names its spec", "[cli]") {
  check_refused("sweep --resume 3f2a", "results.sqlite");
  check_refused("sweep --resume-within soon", "--resume-within");
  check_refused("sweep quick --axis seq_len=-5", "quick: /families/0");
}

TEST_CASE("a value that a runtime's name cannot have is refused, an unknown name warns", "[cli]") {
  const std::string run = "run --preset tiny --seq-len 8 --steps 1 --no-thresholds";
  for (const char* variable : {"NSA_USE_FA2=maybe", "NSA_FA2_MIN_LEN_WIN=1e999",
                               "NSA_FORCE_BRANCH=all", "NSA_VARLEN_RESERVE_N=-5"}) {
    check_refused("explain --no-thresholds", variable, variable);
    check_refused(run, variable, variable);
  }
  const Folder folder;
  const Result unknown = nsatune(folder, "explain --no-thresholds", "NSA_NO_SUCH_NAME=1");
  CHECK(unknown.exit_code == 0);
  CHECK(unknown.err.find("NSA_NO_SUCH_NAME") != std::string::npos);
}

TEST_CASE("an error is one line without control characters, whatever it quotes", "[cli]") {
  const Folder folder;
  const Result r = nsatune(folder, "explain --dtype \"$(printf 'x\\033[31m\\ny')\"");
  CHECK(r.exit_code == 2);
  CHECK(lines_of(r.err) == 1);
  CHECK(r.err.find('\x1b') == std::string::npos);
}

TEST_CASE("a note is one line without control characters, whatever it quotes", "[cli]") {
  const Folder folder;
  const std::string name = "h\x1b[31mx\nmd";
  folder.write(name + ".yaml", "model: {dim: 64, n_heads: 4, n_kv_groups: 2}\ntrain: {lr: 1}\n");
  const std::string quoted = "\"$(printf 'h\\033[31mx\\nmd')\"";
  for (const std::string& command :
       {"explain --no-thresholds --config " + quoted + ".yaml",
        "run --preset tiny --layers 1 --seq-len 8 --steps 1 --db " + quoted + ".sqlite"}) {
    const Result r = nsatune(folder, command);
    INFO(r.err);
    CHECK(r.exit_code == 0);
    CHECK(r.err.find("h\\x1b[31mx\\nmd.") != std::string::npos);
    CHECK(r.err.find('\x1b') == std::string::npos);
    CHECK(r.err.find("\nmd") == std::string::npos);
  }
}

TEST_CASE("an unknown key of a user's config is refused by every command, or ignored on demand",
          "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "model: {dim: 64, n_heads: 4, n_kv_group: 2}\n");
  for (const char* command : {"explain --no-thresholds", "sweep quick --dry-run",
                              "run --seq-len 8 --layers 1 --steps 1 --no-thresholds --no-db"}) {
    const std::string line = std::string(command) + " --config model.yaml";
    const Result refused = nsatune(folder, line);
    INFO(command << ": " << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(lines_of(refused.err) == 1);
    CHECK(refused.err.find("did you mean model.n_kv_groups?") != std::string::npos);
    const Result ignored = nsatune(folder, line + " --ignore-unknown");
    INFO(ignored.err);
    CHECK(ignored.exit_code == 0);
    CHECK(ignored.err.find("unknown, ignored: model.n_kv_group") != std::string::npos);
  }
}

TEST_CASE("a config's FlashAttention lengths count where the environment sets none", "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "runtime: {fa2_min_len_win: 4096, precision: fp32}\n");
  const std::string command = "explain --no-thresholds --json --config model.yaml";
  const auto why = [](const Result& result) {
    const Json document = json_of(result, "explain");
    for (const Json& decision : document["decisions"])
      if (decision["stage"] == "attend_window") return decision["why"].get<std::string>();
    return std::string();
  };
  const std::string forced = "NSA_USE_FA2_WIN=1";
  const Result config = nsatune(folder, command, forced);
  CHECK(config.err.find("runtime.fa2_min_len_win: as NSA_FA2_MIN_LEN_WIN=4096") !=
        std::string::npos);
  const Result both = nsatune(folder, command, forced + " NSA_FA2_MIN_LEN_WIN=8");
  CHECK(both.err.find("NSA_FA2_MIN_LEN_WIN=8 of the environment wins") != std::string::npos);
  INFO(why(config) << " | " << why(both));
  CHECK(why(config).find("NSA_FA2_MIN_LEN_WIN=4096") != std::string::npos);
  CHECK(why(both).find("NSA_FA2_MIN_LEN_WIN=8") != std::string::npos);
}

TEST_CASE("explain names the line of a config that decided, not the environment", "[cli]") {
  const Folder folder;
  folder.write("model.yaml", "runtime:\n  fa2_min_len_win: -1\n  precision: fp32\n");
  const std::string command = "explain --no-thresholds --seq-len 64 --config model.yaml";
  const auto line_of = [](const Result& result, const std::string& start) {
    const std::size_t at = ("\n" + result.out).find("\n" + start);
    REQUIRE(at != std::string::npos);
    return result.out.substr(at, result.out.find('\n', at) - at);
  };
  const Result config = nsatune(folder, command);
  INFO(config.out);
  const std::string window = line_of(config, "attend_window");
  CHECK(window.find(" config ") != std::string::npos);
  CHECK(window.find("NSA_FA2_MIN_LEN_WIN=-1 (model.yaml:2)") != std::string::npos);
  CHECK(line_of(config, "NSA_FA2_MIN_LEN_WIN").find("model.yaml:2") != std::string::npos);
  const Json document = json_of(nsatune(folder, command + " --json"), "explain");
  CHECK(document["names"][0]["origin"] == "model.yaml:2");

  const Result own = nsatune(folder, command, "NSA_FA2_MIN_LEN_WIN=-1");
  CHECK(line_of(own, "attend_window").find(" environment ") != std::string::npos);
  CHECK(own.out.find("model.yaml:") == std::string::npos);
}

TEST_CASE("output that cannot be written is exit 4, short or long", "[cli]") {
  const Folder folder;
  const std::string full = " >/dev/full 2>/dev/null; code=$?; (exit $code)";
  for (const char* command : {"devices", "variants --json", "--help"}) {
    INFO(command);
    CHECK(nsatune(folder, command + full).exit_code == 4);
  }
}

TEST_CASE("file names that are no UTF-8 do not break a document", "[cli]") {
  const Folder folder;
  const Result run = nsatune(folder,
                             "run --preset tiny --seq-len 8 --steps 1 --json --db "
                             "\"$(printf 'r\\377.sqlite')\"");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  json_of(run, "run_result");
  json_of(nsatune(folder, "db info --json --db \"$(printf 'r\\377.sqlite')\""), "db_info");
}

TEST_CASE("an unknown device is exit 4 and the message lists those that are here", "[cli]") {
  const Folder folder;
  const Result r = nsatune(folder, "sweep --device cuda:7");
  CHECK(r.exit_code == 4);
  CHECK(r.err.find("cpu") != std::string::npos);
  CHECK(r.err.find("cuda:7") != std::string::npos);
  CHECK(nsatune(folder, "devices --device cuda:7").exit_code == 4);
}

TEST_CASE("contradictory or hostile input files are refused with the place", "[cli]") {
  const Folder folder;
  const auto refused = [&](const std::string& name, const std::string& text,
                           const std::string& command, const std::string& word) {
    folder.write(name, text);
    const Result r = nsatune(folder, command + " " + name);
    INFO(text << "\n" << r.err);
    CHECK(r.exit_code == 2);
    CHECK(lines_of(r.err) == 1);
    CHECK(r.err.find(name) != std::string::npos);
    CHECK(r.err.find(word) != std::string::npos);
  };
  refused("cut.json", "{\"schema_version\": 1, \"families\": [", "sweep", "1:");
  refused("future.json", "{\"schema_version\": 99, \"name\": \"x\", \"families\": []}", "sweep",
          "version");
  refused("heads.json",
          R"({"schema_version": 1, "name": "x", "families": [{"name": "f", "base":
             {"seq_lens": [64], "context_lens": [0], "q_heads": 7, "kv_heads": 2}}]})",
          "sweep", "q_heads");
  refused("three.json",
          R"({"schema_version": 1, "name": "x", "families": [{"name": "f", "base":
             {"seq_lens": [64], "context_lens": [0], "sel_count": 2}}]})",
          "sweep", "sel_count");
  refused("t.json", "[]", "explain --seq-len 5", "/");
  refused("nan.json", "{\"schema_version\": NaN}", "explain --seq-len 5", "1:");
  refused("model.yaml", "model: {dim: 64, n_heads: 7, n_kv_groups: 2, d_k: 8, d_v: 8}",
          "run --config", "n_heads");
  refused("broken.yaml", "model: [1, 2", "run --config", "1");
}

TEST_CASE("a sweep of a direction of training names stages that have it", "[cli]") {
  const Folder folder;
  const auto sweep_of = [&](const std::string& direction, const std::string& stages) {
    folder.write("s.json", R"({"schema_version": 1, "name": "x", "families": [{"name": "f", "base":
        {"direction": ")" + direction +
                               R"(", "seq_lens": [64], "context_lens": [0]}, "stages": )" + stages +
                               "}]}");
    return nsatune(folder, "sweep s.json --dry-run --device cpu");
  };
  CHECK(sweep_of("forward_saving", R"(["attend_compressed", "score"])").exit_code == 0);
  const Result saving = sweep_of("forward_saving", R"(["attend_window", "compress"])");
  CHECK(saving.exit_code == 2);
  CHECK(saving.err ==
        "nsatune: families/f: compress saves nothing for the backward pass; measure it with "
        "direction forward\n");
  CHECK(sweep_of("forward_backward", R"(["attention"])").exit_code == 0);
  const Result both = sweep_of("forward_backward", R"(["attention", "attend_window"])");
  CHECK(both.exit_code == 2);
  CHECK(both.err ==
        "nsatune: families/f: attend_window has no row of both passes; measure attention, layer "
        "or model so, and stages with direction forward_saving and backward\n");
}

TEST_CASE("a database that is none of ours is refused and kept", "[cli]") {
  const Folder folder;
  const std::string text = "this is not a database, but somebody's diary, long enough to be read";
  folder.write("diary.txt", text);
  for (const char* command : {"sweep quick", "db info", "export", "tune -o t.json"}) {
    const Result r = nsatune(folder, std::string(command) + " --db diary.txt");
    INFO(command << ": " << r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.err.find("diary.txt") != std::string::npos);
  }
  CHECK(read_text_file(folder.file("diary.txt")) == text);
  CHECK_FALSE(std::filesystem::exists(folder.file("t.json")));
}

TEST_CASE("no output goes over a database, and a folder that is not there is exit 2", "[cli]") {
  const Folder folder;
  const std::string tiny = "run --preset tiny --seq-len 8 --layers 1 --steps 1 ";
  REQUIRE(nsatune(folder, tiny + "--db results.sqlite").exit_code == 0);
  const std::string before = read_text_file(folder.file("results.sqlite"));
  for (const std::string& command : {std::string("export -o results.sqlite"),
                                     std::string("doctor --record results.sqlite -- true"),
                                     tiny + "--heartbeat results.sqlite --db other.sqlite"}) {
    const Result r = nsatune(folder, command);
    INFO(command << ": " << r.err);
    CHECK(r.exit_code == 2);
    CHECK(r.err.find("results.sqlite: is a SQLite database; name another file") !=
          std::string::npos);
    CHECK(read_text_file(folder.file("results.sqlite")) == before);
  }
  CHECK(nsatune(folder, "export -o no/such/folder.csv").exit_code == 2);
}

TEST_CASE("a dry run names the device, and a line of its plan for each contest", "[cli]") {
  const Folder folder;
  const std::string command = "sweep quick --dry-run --axis seq_len=128,512 --stage ranges,score";
  const Json plan = json_of(nsatune(folder, command + " --json"), "sweep_plan");
  CHECK(plan["device"] == "cpu");
  const std::string text = nsatune(folder, command).out;
  CAPTURE(text);
  const std::size_t contests = plan["contests"].size();
  CHECK(text.find(std::to_string(contests) + " contests on cpu, about") != std::string::npos);
  std::size_t rows = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    rows += line.starts_with("  ranges") || line.starts_with("  score") ? 1 : 0;
  CHECK(rows == contests);
}

TEST_CASE("a dry run says what of the plan the budget covers", "[cli]") {
  const Folder folder;
  const std::string command = "sweep quick --dry-run --axis seq_len=128 --stage ranges --budget ";
  CHECK(nsatune(folder, command + "10ms").exit_code == 2);
  CHECK(nsatune(folder, command + "0.01s")
            .out.find("the budget of 0.01 s covers about 0 contests\n") != std::string::npos);
  CHECK(nsatune(folder, command + "10d").out.find("the budget") == std::string::npos);
}

TEST_CASE("a sweep of nothing says why, whatever is asked for", "[cli]") {
  const Folder folder;
  folder.write("spec.json", R"({"schema_version": 1, "name": "none", "families": [{"name": "a",
    "base": {"phase": "decode", "seq_lens": [1], "context_lens": [63]}, "axes": {},
    "stages": ["layer"]}]})");
  const Result result = nsatune(folder, "sweep spec.json -q");
  CHECK(result.exit_code == 3);
  CHECK(result.err == "sweep: no variant of this build runs any problem of the spec on cpu\n");
}

TEST_CASE("lengths, precisions and presets are understood as people write them", "[cli]") {
  const Folder folder;
  const auto explained = [&](const std::string& flags) {
    return json_of(nsatune(folder, "explain --json " + flags), "explain")["problem"];
  };
  CHECK(explained("--seq-len 8k")["seq_lens"] == Json({8192}));
  CHECK(explained("--seq-len 1e3")["seq_lens"] == Json({1000}));
  CHECK(explained("--preset 125M --dtype BF16") == explained("--preset 125m --dtype bf16"));
  const Json plan = json_of(
      nsatune(folder, "sweep quick --dry-run --json --stage ranges --axis seq_len=128:1k:x2,1000"),
      "sweep_plan");
  std::set<std::int64_t> lengths;
  for (const Json& contest : plan["contests"])
    lengths.insert(contest["problem"]["seq_lens"][0].get<std::int64_t>());
  CHECK(lengths == std::set<std::int64_t>{128, 256, 512, 1000, 1024});
}

TEST_CASE("lists of whole numbers take ranges", "[cli]") {
  const Folder folder;
  const auto batches = [&](const std::string& flags) {
    const Json report =
        json_of(nsatune(folder, "report memory --preset tiny --seq-len 64 --json " + flags),
                "report_memory");
    return report["batches"];
  };
  CHECK(batches("--batches 1:4:x2,3") == Json({1, 2, 4, 3}));
  CHECK(batches("--batches=1:3:+1") == Json({1, 2, 3}));
  check_refused("report matrix --preset tiny --seq-lens 512:2k:x1", "must ascend");
  check_refused("report matrix --preset tiny --seq-lens 512:2k:y2", "512:2k:y2");
}

TEST_CASE("an axis that is named twice has the values of both", "[cli]") {
  const Folder folder;
  const auto lengths = [&](const std::string& axes) {
    return nsatune(folder, "sweep quick --dry-run --json --stage ranges " + axes).out;
  };
  CHECK(lengths("--axis seq_len=512 --axis seq_len=1024") == lengths("--axis seq_len=512,1024"));
  CHECK(lengths("--axis seq_len=512") != lengths("--axis seq_len=512,1024"));
}

}  // namespace nsa::test
