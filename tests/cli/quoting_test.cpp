// Files and names of others: one line that names the place, whatever it quotes.
#include "catch.hpp"
#include "program.hpp"
#include "refused.hpp"

namespace nsa::test {

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

}  // namespace nsa::test
