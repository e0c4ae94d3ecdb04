// Emitted files as text: env lines, and a YAML that keeps what is not ours.
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/emit.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

Emission some(ProjectValues values) {
  Emission e;
  e.project = "nsa-vibe";
  e.of_class = "a class";
  e.device = "Some GPU\nNSA_EVIL=1";
  e.source = "runs r";
  e.values = std::move(values);
  return e;
}

std::string patched(const std::string& yaml, ProjectValues values) {
  std::vector<std::string> left_out;
  return patched_yaml(find_project("nsa-vibe"), some(std::move(values)), yaml, "u.yaml", left_out);
}

std::string refusal(const std::string& yaml) {
  try {
    (void)patched(yaml, {{"NSA_FA2_MIN_LEN_WIN", "7"}});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const ProjectValues kWindow{{"NSA_FA2_MIN_LEN_WIN", "7"}};

}  // namespace

TEST_CASE("every value is a line of its own, and nothing else is no comment", "[emit]") {
  const ProjectValues values{{"NSA_USE_FA2", "1"}, {"NSA_FA2_MIN_LEN_WIN", "96"}};
  const auto entries = parse_env_file(env_text(some(values)), "e");
  CHECK(entries ==
        std::vector<std::string>{"NSA_FA2_MIN_LEN_WIN=96", "NSA_USE_FA2=1"});  // no NSA_EVIL
}

TEST_CASE("what a stage loses and asks for is said in the same words wherever it is", "[emit]") {
  Emission e = some({});
  EmittedStage& stage = e.stages.emplace_back();
  stage.runs = "masked";
  CHECK(loss_text(stage).empty());
  CHECK(caution_text(stage).empty());
  stage.exact = false;
  stage.loss = 0.41;
  stage.caution = "compare the outputs";
  CHECK(loss_text(stage).find("this loses 41.00 % against it") != std::string::npos);
  CHECK(env_text(e).find("#   " + loss_text(stage) + "\n") != std::string::npos);
  CHECK(env_text(e).find("#   caution: compare the outputs\n") != std::string::npos);
  stage.loss.reset();
  CHECK(loss_text(stage).find("does not tell what this loses") != std::string::npos);
}

TEST_CASE("an env file has names, comments and empty lines only", "[emit]") {
  CHECK(parse_env_file("# a\n\n  # b\nA=1\r\nB=\nC=x=y", "e") ==
        std::vector<std::string>{"A=1", "B=", "C=x=y"});
  for (const char* bad : {"export A=1", "A", "=1", "A B=1", "\"A\"=1"}) {
    INFO(bad);
    CHECK_THROWS_WITH(parse_env_file(std::string("A=1\n") + bad, "e"),
                      "e:2: expected NAME=value or a comment");
  }
}

TEST_CASE("of a name that stands twice in an env file the last value counts", "[emit]") {
  CHECK(parse_env_file("A=1\nAB=2\nA=3\nB=\nA=4", "e") ==
        std::vector<std::string>{"A=4", "AB=2", "B="});
}

TEST_CASE("a value is replaced and comments, order and spelling stay", "[emit]") {
  const std::string before =
      "# FA‑2 policy\nruntime:\n  b: 'x'   # kept\n  fa2_min_len_win: -1  # off\n\n  c: {d: 1}\nz: "
      "1";
  CHECK(patched(before, kWindow) ==
        "# FA‑2 policy\nruntime:\n  b: 'x'   # kept\n  fa2_min_len_win: 7  # off\n\n  c: {d: "
        "1}\nz: 1");
}

TEST_CASE("values are found however they are written", "[emit]") {
  CHECK(patched("runtime: {fa2_min_len_win: -1, b: 2}", kWindow) ==
        "runtime: {fa2_min_len_win: 7, b: 2}");
  CHECK(patched("runtime:\n  \"fa2_min_len_win\":   \"-1\" # x\n", kWindow) ==
        "runtime:\n  \"fa2_min_len_win\":   7 # x\n");
  CHECK(patched("runtime:\n  fa2_min_len_win: # none\n  b: 2\n", kWindow) ==
        "runtime:\n  fa2_min_len_win: 7 # none\n  b: 2\n");
  CHECK(patched("runtime:\r\n  fa2_min_len_win: -1\r\n", kWindow) ==
        "runtime:\r\n  fa2_min_len_win: 7\r\n");
  CHECK(patched("\xef\xbb\xbfruntime:\n  fa2_min_len_win: -1\n", kWindow) ==
        "\xef\xbb\xbfruntime:\n  fa2_min_len_win: 7\n");
}

TEST_CASE("a key that is missing is added to its section", "[emit]") {
  CHECK(patched("a: 1\nruntime:\n    b: 2\n", kWindow) ==
        "a: 1\nruntime:\n    fa2_min_len_win: 7\n    b: 2\n");
  CHECK(patched("runtime: {b: 2}\n", kWindow) == "runtime: {fa2_min_len_win: 7, b: 2}\n");
  CHECK(patched("runtime:\nb: 2\n", kWindow) == "runtime:\n  fa2_min_len_win: 7\nb: 2\n");
  CHECK(patched("a: 1", kWindow) == "a: 1\nruntime:\n  fa2_min_len_win: 7\n");
  CHECK(patched("", kWindow) == "runtime:\n  fa2_min_len_win: 7\n");
  const ProjectValues both{{"NSA_FA2_MIN_LEN_CMP", "-1"}, {"NSA_FA2_MIN_LEN_WIN", "7"}};
  CHECK(patched("runtime:\n  b: 2\n", both) ==
        "runtime:\n  fa2_min_len_cmp: -1\n  fa2_min_len_win: 7\n  b: 2\n");
  CHECK(patched("runtime: {}\n", both) == "runtime: {fa2_min_len_cmp: -1, fa2_min_len_win: 7}\n");
  CHECK(patched("runtime: {b: 2}\n", both) ==
        "runtime: {fa2_min_len_cmp: -1, fa2_min_len_win: 7, b: 2}\n");
  const std::string two = "  fa2_min_len_cmp: -1\n  fa2_min_len_win: 7\n";
  CHECK(patched("runtime:", both) == "runtime:\n" + two);
  CHECK(patched("runtime: null", both) == "runtime:\n" + two);
  CHECK(patched("runtime: ~\na: 1\n", both) == "runtime:\n" + two + "a: 1\n");
  CHECK(patched("runtime:  null  # none yet\n", both) == "runtime:  # none yet\n" + two);
}

TEST_CASE("a key that comes from a merged map is written where it then counts", "[emit]") {
  CHECK(patched("base: &b\n  fa2_min_len_win: -1\nruntime:\n  <<: *b\n  c: 1\n", kWindow) ==
        "base: &b\n  fa2_min_len_win: -1\nruntime:\n  fa2_min_len_win: 7\n  <<: *b\n  c: 1\n");
}

TEST_CASE("a switch is true or false, and what has no key is named", "[emit]") {
  std::vector<std::string> left_out;
  const Emission e = some({{"NSA_USE_FA2", "0"}, {"NSA_FORCE_SEL_MASK", "1"}});
  CHECK(patched_yaml(find_project("nsa-vibe"), e, "runtime:\n  fa2_enabled: true\n", "u.yaml",
                     left_out) == "runtime:\n  fa2_enabled: false\n");
  CHECK(left_out == std::vector<std::string>{"NSA_FORCE_SEL_MASK=1"});
}

TEST_CASE("YAML that cannot be patched is refused with its line", "[emit]") {
  CHECK(refusal("a: [1").starts_with("u.yaml:"));
  CHECK(refusal("- 1\n").starts_with("u.yaml:1: expected sections"));
  CHECK(refusal("a: 1\nruntime: 5\n") == "u.yaml:2: runtime: expected keys with values below it");
  CHECK(refusal("a: &x {b: 1}\nruntime: *x\n").starts_with("u.yaml:2: runtime: expected keys"));
  CHECK(
      refusal("runtime:\n  fa2_min_len_win: [1]\n").starts_with("u.yaml:2: fa2_min_len_win: exp"));
  CHECK(refusal("runtime:\n  fa2_min_len_win: &n -1\n")
            .starts_with("u.yaml:2: fa2_min_len_win: has"));
  CHECK(refusal("runtime:\n  fa2_min_len_win: 1\n  fa2_min_len_win: 2\n") ==
        "u.yaml:3: fa2_min_len_win appears twice (first in line 2); keep one");
}
