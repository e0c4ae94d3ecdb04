// What is decided for two stages together is what `explain` shows and `run` runs.
#include <algorithm>

#include "catch.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

const std::vector<std::string> kBoth{"attend_compressed", "score"};

/// A file of a CPU that decides both stages at every length.
std::string file_that_says(const std::string& name) {
  ThresholdTable table;
  table.created_by = "test";
  table.device.name = "some CPU";
  ThresholdRange range;
  range.variant = {kBoth, name, {}};
  Decision decision;
  decision.stages = kBoth;
  decision.axis = Axis::compressed_len;
  decision.ranges = {range};
  ClassDecisions of_class;
  of_class.problem_class = class_of(Problem{});
  of_class.decisions = {decision};
  table.classes = {of_class};
  return dump_thresholds(table);
}

/// "score/streamed " of each row that ran for the two stages.
std::string ran(const Folder& folder, const std::string& file, const std::string& variables = "") {
  const Json run = json_of(
      nsatune(folder,
              "run --preset tiny --seq-len 96 --layers 1 --steps 1 --json --thresholds " + file,
              variables),
      "run_result");
  std::string text;
  for (const Json& entry : run["engaged"]) {
    const std::string stage = entry["stage"];
    if (stage.find("score") == stage.npos && stage.find("attend_compressed") == stage.npos)
      continue;
    text += stage + "/" + entry["variant"].get<std::string>() + " ";
  }
  return text;
}

/// The same of what `explain` says, and who decided.
std::string explained(const Folder& folder, const std::string& file,
                      const std::string& variables = "") {
  const Json document =
      json_of(nsatune(folder, "explain " + file + " --seq-len 96 --json", variables), "explain");
  std::string text;
  for (const Json& line : document["decisions"]) {
    const Json& stages = line["stages"];
    const bool ours = std::ranges::any_of(
        stages, [](const Json& s) { return s == "score" || s == "attend_compressed"; });
    if (!ours) continue;
    text += line["variant"].get<std::string>() + " by " + line["source"].get<std::string>() + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("what a file decides for two stages together is what runs", "[cli]") {
  const Folder folder;
  folder.write("split.json", file_that_says("fa2_dense+streamed"));
  folder.write("joined.json", file_that_says("fused"));
  CHECK(ran(folder, "split.json") == "attend_compressed/fa2_dense score/streamed ");
  CHECK(explained(folder, "split.json") ==
        "score/streamed by thresholds attend_compressed/fa2_dense by thresholds ");
  CHECK(ran(folder, "joined.json") == "attend_compressed+score/fused ");
  CHECK(explained(folder, "joined.json") == "attend_compressed+score/fused by thresholds ");
}

TEST_CASE("a variable that asks for a row of one of the stages breaks up what a file joins",
          "[cli]") {
  const Folder folder;
  folder.write("joined.json", file_that_says("fused"));
  const std::string variables = "NSA_FA2_MIN_LEN_CMP=1 NSA_USE_FA2_CMP=1";
  CHECK(explained(folder, "joined.json", variables) ==
        "score/materialised by built_in attend_compressed/fa2_varlen by environment ");
  CHECK(ran(folder, "joined.json", variables) ==
        "attend_compressed/fa2_varlen score/materialised ");
}

TEST_CASE("a file that leaves a stage without a row is refused with the stage's name", "[cli]") {
  const Folder folder;
  folder.write("gap.json", file_that_says("fa2_dense+"));
  const Result r = nsatune(folder, "explain gap.json --seq-len 96");
  CHECK(r.exit_code == 2);
  CHECK(r.err.find("leaves score without a row") != std::string::npos);
  CHECK(std::ranges::count(r.err, '\n') == 1);
}

}  // namespace nsa::test
