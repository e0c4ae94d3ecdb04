// What run prints, from the document that it keeps.
#include "nsa/reports/run_result_text.hpp"

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "text.hpp"

namespace nsa::reports {
namespace {

using test::contains;

Json result_with(double flop_per_s) {
  return {{"model",
           {{"name", "layer"},
            {"layers", 1},
            {"parameters", 2e6},
            {"attention", "nsa"},
            {"dtype", "fp32"}}},
          {"device", {{"id", "cpu"}, {"name", "some CPU"}}},
          {"variables", {{"NSA_USE_FA2", "0"}, {"OMP_NUM_THREADS", "2"}}},
          {"seq_len", 64},
          {"batch", 1},
          {"thresholds", nullptr},
          {"first_call_ns", 11.5e9},
          {"median_step_ns", 2e6},
          {"step_ns", {2e6}},
          {"tokens_per_s", 32000.0},
          {"flop_per_s", flop_per_s},
          {"peak_flop_per_s", 400e12}};
}

}  // namespace

TEST_CASE("a run is told in units that people read, with what overrules its thresholds",
          "[reports]") {
  const std::string text = run_result_text(result_with(222e12));
  INFO(text);
  CHECK(contains(text, "forward only: first call 11.5 s, then 2.00 ms a step"));
  CHECK(contains(text, "222 TFLOP/s, 56 % of the matrix rate (400 TFLOP/s)"));
  CHECK(contains(text, "environment: NSA_USE_FA2=0\n"));
}

TEST_CASE("a run names the branches that it left out, and MFU by the data sheet", "[reports]") {
  Json result = result_with(222e12);
  CHECK_FALSE(contains(run_result_text(result), "branches"));
  CHECK_FALSE(contains(run_result_text(result), "MFU"));
  result["model"]["branches"] = {"cmp", "win"};
  result["mfu"] = 0.224;
  result["data_sheet_flop_per_s"] = 989.4e12;
  const std::string text = run_result_text(result);
  INFO(text);
  CHECK(contains(text, "NSA attention, branches cmp+win only, fp32"));
  CHECK(contains(text, "MFU 22.4 % of the data sheet's 989 TFLOP/s"));
}

TEST_CASE("a run says what the last query reads, and what more the formula counts", "[reports]") {
  Json result = result_with(222e12);
  result["engaged"] = result["fallback"] = Json::array();
  result["slow_path_calls"] = 0;
  result["telemetry"] = {
      {"reads_act", 2}, {"reads_pred", 1025}, {"peak_workspace_bytes", 1e6}, {"grow_events", 1}};
  CHECK(contains(run_result_text(result),
                 "  the last query reads 2 tokens (1025 if all its selected blocks existed and "
                 "were full); workspace peak 1.0 MB, 1 grow event\n"));
  result["telemetry"]["reads_act"] = 1025;
  CHECK(contains(run_result_text(result), "the last query reads 1025 tokens; workspace"));
}

TEST_CASE("more than the measured peak is no share of it", "[reports]") {
  const std::string text = run_result_text(result_with(480e12));
  INFO(text);
  CHECK_FALSE(contains(text, "%"));
  CHECK(contains(text, "above the matrix rate (400 TFLOP/s when it was measured"));
}

}  // namespace nsa::reports
