#include <algorithm>

#include "catch.hpp"
#include "program.hpp"

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

TEST_CASE("help and version answer with exit 0 and examples", "[cli]") {
  const Folder folder;
  for (const char* command :
       {"", "devices ", "variants ", "sweep ", "tune ", "explain ", "run ", "db ", "export "}) {
    const Result help = nsatune(folder, std::string(command) + "--help");
    INFO(command);
    CHECK(help.exit_code == 0);
    CHECK(help.out.find("Examples:") != std::string::npos);
  }
  CHECK(nsatune(folder, "--version").out.find("nsatune 0.") == 0);
}

TEST_CASE("bad flags are one line and exit 2, and nothing is written", "[cli]") {
  check_refused("", "subcommand");
  check_refused("nonsense", "subcommand");
  check_refused("sweep nonsense", "nonsense");
  check_refused("sweep missing.json", "missing.json");
  check_refused("sweep --axis colour=blue", "colour");
  check_refused("sweep --budget yesterday", "yesterday");
  check_refused("sweep --stage nowhere", "nowhere");
  check_refused("tune -o t.json", "results.sqlite");
  check_refused("run --seq-len -3", "-3");
  check_refused("run --layers 13", "--layers");
  check_refused("run --branches cmp,side", "side");
  check_refused("run --config missing.yaml", "missing.yaml");
  check_refused("run --thresholds missing.json", "missing.json");
  check_refused("run --strict --no-telemetry", "--strict");
  check_refused("explain missing.json --seq-len 5", "missing.json");
  check_refused("explain --seq-len 99999999999999999999", "seq-len");
  check_refused("export --run 3f2a", "results.sqlite");
  check_refused("db info", "results.sqlite");
  check_refused("--color pink devices", "color");
}

TEST_CASE("an unknown device is exit 4 and the message lists those that are here", "[cli]") {
  const Folder folder;
  const Result r = nsatune(folder, "sweep --device cuda:7");
  CHECK(r.exit_code == 4);
  CHECK(r.err.find("cpu") != std::string::npos);
  CHECK(r.err.find("cuda:7") != std::string::npos);
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

TEST_CASE("a database that is none of ours is refused and kept", "[cli]") {
  const Folder folder;
  const std::string text = "this is no database, but somebody's diary, long enough to be read";
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

}  // namespace nsa::test
