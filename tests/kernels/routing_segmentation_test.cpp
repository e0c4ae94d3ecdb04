// Segmentations: a row over several stages against the sequence of single rows, and composites that
// name rows of their stages.
#include <algorithm>
#include <string>

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

const std::vector<std::string> kNames{"attend_compressed", "score"};

VariantId together(std::string name) { return {kNames, std::move(name), {}}; }

/// The real table of a CPU, with these decisions for both stages together.
Router::Inputs decided(std::vector<ThresholdRange> ranges, std::vector<Decision> others = {}) {
  Router::Inputs in = inputs();
  in.rows = catalog();
  Decision d = decision("score", std::move(ranges));
  d.stages = kNames;
  others.push_back(std::move(d));
  in.table = table(in.device, prefill(64), std::move(others));
  for (Decision& each : in.table->classes[0].decisions) {
    for (ThresholdRange& range : each.ranges) range.source_hash.clear();
  }
  in.table_path = "t.json";
  return in;
}

/// "fused" or "fa2_dense, streamed": what runs for the two stages.
std::string rows_of(const Router& router, const Problem& p, const Choice* within = nullptr) {
  std::string text;
  const Segmentation segmentation = router.segmentation(kBranches, p, within);
  for (const Choice& choice : segmentation.choices()) {
    text += (text.empty() ? "" : ", ") + std::string(choice.variant ? choice.variant->name : "-");
  }
  return text;
}

std::string said(const ExplainReport& report) {
  std::string text;
  for (const Explanation& line : report.decisions) {
    const bool ours = std::ranges::find(line.stages, Stage::score) != line.stages.end() ||
                      std::ranges::find(line.stages, Stage::attend_compressed) != line.stages.end();
    if (ours) text += line.variant + " " + std::string(to_string(line.source)) + "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("a file that says split runs split, one that says fused runs fused, by length",
          "[kernels][routing]") {
  const Router router(
      decided({range(0, 512, together("fa2_dense+streamed")), range(512, {}, together("fused"))}));
  CHECK(rows_of(router, prefill(64)) == "fa2_dense, streamed");
  CHECK(rows_of(router, prefill(511)) == "fa2_dense, streamed");
  CHECK(rows_of(router, prefill(512)) == "fused");
  const Segmentation split = router.segmentation(kBranches, prefill(64));
  for (const Choice& choice : split.choices()) {
    CHECK(choice.source == Source::thresholds);
    REQUIRE(choice.range);
    CHECK(choice.range->variant == together("fa2_dense+streamed"));
  }
  CHECK(said(explain(router, prefill(64))) ==
        "score/streamed thresholds; attend_compressed/fa2_dense thresholds; ");
  CHECK(said(explain(router, prefill(512))) == "attend_compressed+score/fused thresholds; ");
}

TEST_CASE("without a decision the row over both runs, as the built-in order has it",
          "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.rows = catalog();
  const Router router(std::move(in));
  CHECK(rows_of(router, prefill(64)) == "fused");
  const Segmentation segmentation = router.segmentation(kBranches, prefill(64));
  CHECK(segmentation.choices().front().source == Source::built_in);
}

TEST_CASE("a wish for one of the stages wins against a file that joins them",
          "[kernels][routing]") {
  const auto joined = [] { return decided({range(0, {}, together("fused"))}); };
  Router::Inputs in = joined();
  in.api.variants = {{Stage::score, id("score", "streamed")}};
  const Router by_api(std::move(in));
  CHECK(rows_of(by_api, prefill(64)) == "fa2_varlen, streamed");
  const auto choices = by_api.segmentation(kBranches, prefill(64));
  CHECK(choices.choices()[1].source == Source::api);
  in = joined();
  in.environment = environment({"NSA_USE_FA2_CMP=1"});
  const Router by_environment(std::move(in));
  Problem long_enough = prefill(4096);
  CHECK(rows_of(by_environment, long_enough) == "fa2_varlen, materialised");
  // Below the least length FA-2 is ruled out, which is a decision of the environment too.
  CHECK(rows_of(by_environment, prefill(64)) == "sdpa_math, materialised");
  const ExplainReport report = explain(by_environment, long_enough);
  for (const Explanation& line : report.decisions) {
    if (line.stages.front() != Stage::attend_compressed) continue;
    CHECK(line.overridden == "attend_compressed+score/fused");
    CHECK(line.why == "NSA_USE_FA2_CMP=1");
  }
}

TEST_CASE("a wish for the stages together is stronger than one for a single stage's table",
          "[kernels][routing]") {
  Router::Inputs in = decided({range(0, {}, together("fused"))});
  in.api.variants = {{Stage::attend_compressed, together("sdpa_math+materialised")}};
  CHECK(rows_of(Router(std::move(in)), prefill(64)) == "sdpa_math, materialised");
}

TEST_CASE("decisions for single stages count where nothing is decided for both",
          "[kernels][routing]") {
  Router::Inputs in = decided({range(1024, {}, together("fused"))},
                              {decision("score", {range(0, {}, id("score", "streamed"))})});
  in.api.variants = {{Stage::attend_compressed, id("attend_compressed", "sdpa_math")}};
  CHECK(rows_of(Router(std::move(in)), prefill(64)) == "sdpa_math, streamed");
}

TEST_CASE("a file of version 1 binds too, and says once that it knows no hashes of composites",
          "[kernels][routing]") {
  Router::Inputs in = decided({range(0, {}, together("fused"))});
  in.table->schema_version = 1;
  in.table->classes[0].decisions[0].ranges[0].source_hash = "0123456789abcdef";
  const Router router(std::move(in));
  CHECK(rows_of(router, prefill(64)) == "fused");
  const Segmentation segmentation = router.segmentation(kBranches, prefill(64));
  CHECK_FALSE(segmentation.choices().front().stale);
  const auto unknown = [](const std::string& line) {
    return line.find("is unknown") != std::string::npos;
  };
  CHECK(std::ranges::count_if(router.warnings(), unknown) == 1);
}

TEST_CASE("a file of today with another hash of a row over both is stale", "[kernels][routing]") {
  Router::Inputs in = decided({range(0, {}, together("fused"))});
  in.table->classes[0].decisions[0].ranges[0].source_hash = "0123456789abcdef";
  const Router router(std::move(in));
  const Segmentation segmentation = router.segmentation(kBranches, prefill(64));
  CHECK(segmentation.choices().front().stale);
}

TEST_CASE("a segmentation that leaves a stage without a row is refused with the stage's name",
          "[kernels][routing]") {
  const auto refusal = [](std::string name) {
    ThresholdTable t = table(cpu(), prefill(64), {});
    Decision d = decision("score", {range(0, {}, together(std::move(name)))});
    d.stages = kNames;
    t.classes[0].decisions.push_back(d);
    try {
      (void)parse_thresholds(dump_thresholds(t), "t.json");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal("fused+").find("leaves score without a row") != std::string::npos);
  CHECK(refusal("+materialised").find("leaves attend_compressed without a row") !=
        std::string::npos);
  CHECK(refusal("a+b+c").find("names 3 rows for 2 stages") != std::string::npos);
  CHECK(refusal("fused") == "accepted");
  // A row of another build: the range is passed over, and the warning names the stage.
  const Router router(decided({range(0, {}, together("fa2_dense+nothing"))}));
  CHECK(rows_of(router, prefill(64)) == "fused");
  const bool named = std::ranges::any_of(router.warnings(), [](const std::string& line) {
    return line.find("leaves score without a row: nothing is unknown") != std::string::npos;
  });
  CHECK(named);
}

TEST_CASE("a range whose variant is for fewer stages than the decision is refused",
          "[kernels][routing]") {
  ThresholdTable t = table(cpu(), prefill(64), {});
  Decision d = decision("score", {range(0, {}, id("attend_compressed", "fa2_dense"))});
  d.stages = kNames;
  t.classes[0].decisions.push_back(d);
  CHECK_THROWS_AS(parse_thresholds(dump_thresholds(t), "t.json"), InputError);
}

TEST_CASE("what a composite names for a stage runs, unless the stage was asked for otherwise",
          "[kernels][routing]") {
  const auto plan = [](std::vector<Decision> decisions) {
    Router::Inputs in = inputs();
    in.rows = catalog();
    decisions.push_back(decision("attention", {range(0, {}, id("attention", "batched_packed"))}));
    in.table = table(in.device, prefill(64), std::move(decisions));
    return in;
  };
  const Decision selected =
      decision("attend_selected", {range(0, {}, id("attend_selected", "masked"))});
  const auto runs_selected = [](const Router& router, const Problem& p) {
    const Choice attention = router.choose(Stage::attention, p);
    return std::string(router.choose(Stage::attend_selected, p, &attention).variant->name);
  };
  CHECK(runs_selected(Router(plan({})), prefill(64)) == "packed");
  CHECK(runs_selected(Router(plan({selected})), prefill(64)) == "packed");
  Router::Inputs in = plan({selected});
  in.api.variants = {{Stage::attend_selected, id("attend_selected", "gather")}};
  CHECK(runs_selected(Router(std::move(in)), prefill(64)) == "gather");
  in = plan({selected});
  in.environment = environment({"NSA_FORCE_SEL_MASK=1"});
  CHECK(runs_selected(Router(std::move(in)), prefill(64)) == "masked");
  // A class of the stage's own that fits the problem better knows more than the composite's.
  in = plan({});
  Problem smooth = prefill(64);
  smooth.selection.overlap = 0.95;
  ClassDecisions fitting;
  fitting.problem_class = class_of(smooth);
  fitting.decisions = {selected};
  in.table->classes.push_back(fitting);
  const Router router(std::move(in));
  CHECK(runs_selected(router, smooth) == "masked");
  CHECK(runs_selected(router, prefill(64)) == "packed");
  for (const Explanation& line : explain(router, prefill(64)).decisions) {
    if (line.stages.front() != Stage::attend_selected) continue;
    CHECK(line.variant == "attend_selected/packed");
    CHECK(line.why.find("a part of attention/batched_packed") != std::string::npos);
  }
}

TEST_CASE("a row with another answer cannot be asked for", "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.api.variants = {{Stage::attention, id("attention", "dense")}};
  CHECK_THROWS_AS(Router(std::move(in)), InputError);
}
