// Settings of a project from a thresholds file, whose ranges may name variants that it has not got.
#include <algorithm>

#include "catch.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/emit.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

/// A file with one decision: the window branch from rows of 1 on, and from 100 on.
Emission window_of(const VariantId& chosen, const Evidence& below, const VariantId& chosen_above,
                   const Evidence& above, Basis basis_above = Basis::measured,
                   Basis basis_below = Basis::measured) {
  Decision window;
  window.stages = {"attend_window"};
  window.axis = Axis::row_len;
  window.ranges = {sim::range(0, 100, chosen), sim::range(100, std::nullopt, chosen_above)};
  window.ranges[0].evidence = below;
  window.ranges[1].evidence = above;
  window.ranges[0].basis = basis_below;
  window.ranges[1].basis = basis_above;
  ThresholdTable table;
  table.device.backend = Backend::cuda;
  table.device.name = "NVIDIA H200";
  table.device.compute_capability = 90;
  table.classes.resize(1);
  table.classes[0].problem_class.dtype = Dtype::bf16;
  table.classes[0].decisions = {window};
  return emit_from_table(find_project("nsa-vibe"), table, table.classes[0],
                         catalog_traits(Backend::cuda));
}

EmittedStage stage_in(const Emission& e, Stage stage) {
  const auto found = std::ranges::find(e.stages, stage, &EmittedStage::stage);
  REQUIRE(found != e.stages.end());
  return *found;
}

Evidence against(const char* runner_up, double low = 0.7, double high = 0.9) {
  Evidence evidence;
  evidence.runner_up = runner_up;
  evidence.median_ratio = 0.8;
  evidence.ratio_low = low;
  evidence.ratio_high = high;
  return evidence;
}

}  // namespace

TEST_CASE("of a file the runner-up counts where the project has not got the winner", "[emit]") {
  const Emission e =
      window_of(sim::id("fused", "attend_window"), against("attend_window/sdpa"),
                sim::id("fa2_varlen", "attend_window"), against("attend_window/sdpa_math"));
  CHECK(e.values.at("NSA_FA2_MIN_LEN_WIN") == "100");
  CHECK(e.values.at("NSA_USE_FA2") == "1");
}

TEST_CASE("a file that names no two paths of the project in one range says nothing", "[emit]") {
  const VariantId fused = sim::id("fused", "attend_window");
  const Emission e = window_of(fused, against("attend_window/sdpa_math"), fused,
                               against("attend_window/fa2_varlen"));
  CHECK(e.values.empty());
  CHECK(env_text(e).find("# attend_window: left as it is: no two of its paths have times of the "
                         "same problem") != std::string::npos);
}

TEST_CASE("what was measured is what the evidence of a file says", "[emit]") {
  const VariantId fa2 = sim::id("fa2_varlen", "attend_window");
  Evidence below = against("attend_window/sdpa_math");
  below.measured_from = 64;
  below.measured_to = 96;
  below.lengths = 2;
  Evidence above = below;
  above.measured_from = above.measured_to = 256;
  above.lengths = 1;
  const auto measured = [&](Basis basis) {
    return stage_in(window_of(fa2, below, fa2, above, basis), Stage::attend_window).measured;
  };
  CHECK(measured(Basis::measured) ==
        "0.8x the time of sdpa, median of 3 problems; measured at row_len 64 to 256");
  CHECK(measured(Basis::extrapolated) ==
        "0.8x the time of sdpa, median of 2 problems; measured at row_len 64 to 96");
  below.measured_from = above.measured_from = std::nullopt;  // a file of an older version
  CHECK(measured(Basis::measured) == "0.8x the time of sdpa, median of 2 problems");
}

TEST_CASE("a stage is left as it is where all its ranges are undecided", "[emit]") {
  Evidence evidence = against("attend_window/sdpa_math", 0.7, 1.3);
  evidence.why = "noise hides which is best";
  const VariantId fa2 = sim::id("fa2_varlen", "attend_window");
  const Emission e =
      window_of(fa2, evidence, sim::id("sdpa_math", "attend_window"),
                against("attend_window/fa2_varlen"), Basis::undecided, Basis::undecided);
  CHECK(e.values.empty());
  CHECK(
      env_text(e).find("# attend_window: left as it is: undecided: noise hides which is best\n") !=
      std::string::npos);
  const Json document = emission_json(e);
  CHECK_NOTHROW(validate_json(document, "emitted", "e"));
  for (const Json& stage : document["stages"]) {
    CHECK(stage["runs"].is_null());
    CHECK_FALSE(stage.contains("loss"));
    CHECK_FALSE(stage.contains("exact"));
  }
}

TEST_CASE("where only some ranges are undecided a setting keeps them and says so", "[emit]") {
  const Emission e = window_of(
      sim::id("sdpa_math", "attend_window"), against("attend_window/fa2_varlen"),
      sim::id("fa2_varlen", "attend_window"), against("attend_window/sdpa_math"), Basis::undecided);
  const EmittedStage below = stage_in(e, Stage::attend_window);
  CHECK(below.caution ==
        "undecided at row_len 100 and more, but a switch leaves no length as it is");
  CHECK(below.exact);
  CHECK(below.why.starts_with("attend_window/sdpa_math: "));
  CHECK(e.values.at("NSA_FA2_MIN_LEN_WIN") == "100");
}

TEST_CASE("an interval that says nothing is not printed as one", "[emit]") {
  const auto why = [](double low, double high) {
    const Evidence evidence = against("attend_window/sdpa_math", low, high);
    const VariantId fa2 = sim::id("fa2_varlen", "attend_window");
    for (const EmittedStage& stage : window_of(fa2, evidence, fa2, evidence).stages) {
      if (stage.stage == Stage::attend_window) return stage.why;
    }
    return std::string("no line for attend_window");
  };
  CHECK(why(0.71, 0.92) ==
        "attend_window/fa2_varlen: 0.8x the time of attend_window/sdpa_math [0.71, 0.92], 0 pairs");
  CHECK(why(1.9e-9, 4.57e10) ==
        "attend_window/fa2_varlen: 0.8x the time of attend_window/sdpa_math [not known], 0 pairs");
}
