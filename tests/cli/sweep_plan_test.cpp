// The spec and the plan of a sweep, before it measures.
#include <filesystem>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

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

TEST_CASE("an axis that is named twice has the values of both", "[cli]") {
  const Folder folder;
  const auto lengths = [&](const std::string& axes) {
    return nsatune(folder, "sweep quick --dry-run --json --stage ranges " + axes).out;
  };
  CHECK(lengths("--axis seq_len=512 --axis seq_len=1024") == lengths("--axis seq_len=512,1024"));
  CHECK(lengths("--axis seq_len=512") != lengths("--axis seq_len=512,1024"));
}

}  // namespace nsa::test
