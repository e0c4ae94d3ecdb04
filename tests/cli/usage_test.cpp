// Flags and arguments: what is understood, and what is refused in one line.
#include <filesystem>
#include <set>

#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace nsa::test {

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
  check_refused("sweep quick extra", "unexpected argument 'extra' (nsatune help sweep lists");
  check_refused("tune a.sqlite -o t.json", "'a.sqlite'; a database comes after --db");
  check_refused("export rows.csv", "; a file to write comes after -o");
  check_refused("sweep missing.json", "missing.json");
  check_refused("sweep --axis colour=blue", "colour");
  check_refused("sweep --axis seqlen=512", "; did you mean seq_len?");
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

TEST_CASE("an argument that is missing is named with what it is", "[cli]") {
  check_refused("trace diff", "a is missing: the trace before, or a folder of all ranks (");
  check_refused("trace diff a.json", "b is missing: the trace or folder after (");
  check_refused("ack add 'x*' --until 2030-01-01",
                "--reason is missing: why the change is accepted");
  check_refused("import nvbench", "FILE is missing: files of that format (");
}

TEST_CASE("flags that contradict each other are refused", "[cli]") {
  check_refused("sweep --new --resume 3f2a", "--new");
  check_refused("sweep --with-ours", "--worker");
  check_refused("run --thresholds t.json --no-thresholds", "--no-thresholds");
  check_refused("explain t.json --no-thresholds", "--no-thresholds");
  check_refused("run --preset tiny --config model.yaml", "--config");
  check_refused("explain --preset tiny --config model.yaml", "--config");
  check_refused("run --attention dense --branches win", "--branches");
  check_refused("run --preset tiny --no-db --db x.sqlite", "--no-db keeps none; drop one");
  check_refused("report --json -o -", "both write to stdout");
}

TEST_CASE("an empty value and a number that would be wrapped or cut are refused", "[cli]") {
  check_refused("run --preset tiny --seq-len ''", "--seq-len: is empty");
  check_refused("sweep quick --variant ''", "--variant: is empty");
  check_refused("--db '' db info", "--db: is empty");
  check_refused("run --preset tiny --seq-len 8 --seed -1", "--seed");
  check_refused("sweep quick --seed -1", "--seed");
  check_refused("tune -o t.json --seed 18446744073709551616", "--seed");
  check_refused("tune -o t.json --margin nan", "--margin");
  check_refused("report eta --tokens-per-s nan", "--tokens-per-s: nan is not a number from");
  check_refused("report eta --tokens-per-s 39 --limit-hours nan", "--limit-hours: nan is not");
}

TEST_CASE("a bad resume makes no database, a bad axis names its spec", "[cli]") {
  check_refused("sweep --resume 3f2a", "results.sqlite");
  check_refused("sweep --resume-within soon", "--resume-within");
  check_refused("sweep quick --axis seq_len=-5", "quick: /families/0");
}

TEST_CASE("an unknown device is exit 4 and the message lists those that are here", "[cli]") {
  const Folder folder;
  const Result r = nsatune(folder, "sweep --device cuda:7");
  CHECK(r.exit_code == 4);
  CHECK(r.err.find("cpu") != std::string::npos);
  CHECK(r.err.find("cuda:7") != std::string::npos);
  CHECK(nsatune(folder, "devices --device cuda:7").exit_code == 4);
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

}  // namespace nsa::test
