// explain(): every decision with its source, its evidence and what an override costs.
#include "catch.hpp"
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/json.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Router::Inputs tuned(std::vector<std::string> entries = {}) {
  Router::Inputs in = inputs(std::move(entries));
  in.table =
      table(in.device, prefill(2048),
            {decision("attend_selected", {range(0, 512, id("attend_selected", "packed")),
                                          range(512, {}, id("attend_selected", "gather"))})});
  Evidence& evidence = in.table->classes[0].decisions[0].ranges[1].evidence;
  evidence.runner_up = "attend_selected/masked";
  evidence.median_ratio = 0.5;  // gather takes half the time of masked
  evidence.pairs = 40;
  evidence.run_ids = {"11111111-2222-4333-8444-555555555555"};
  in.table_path = "t.json";
  return in;
}

Explanation selected_line(const ExplainReport& report) {
  for (const Explanation& line : report.decisions) {
    if (line.stages.front() == Stage::attend_selected) return line;
  }
  throw ContractError("no line for attend_selected");
}

Explanation selected_line(Router::Inputs in, const Problem& p = prefill(2048)) {
  return selected_line(explain(Router(std::move(in)), p));
}

}  // namespace

TEST_CASE("a tuned decision shows its range, file and evidence", "[kernels][routing]") {
  const Explanation line = selected_line(tuned());
  CHECK(line.variant == "attend_selected/gather");
  CHECK(line.source == Source::thresholds);
  CHECK(line.why == "seq_len [512, ...) of t.json");
  CHECK(line.axis_value == 2048);
  REQUIRE(line.evidence);
  CHECK(line.evidence->pairs == 40);
  CHECK(!line.overridden);
  CHECK(selected_line(tuned(), prefill(100)).why == "seq_len [0, 512) of t.json");
}

TEST_CASE("an override shows the variable, what it replaced and what that costs",
          "[kernels][routing]") {
  const Explanation line = selected_line(tuned({"NSA_FORCE_SEL_MASK=1"}));
  CHECK(line.variant == "attend_selected/masked");
  CHECK(line.why == "NSA_FORCE_SEL_MASK=1");
  REQUIRE(line.overridden);
  CHECK(*line.overridden == "attend_selected/gather");
  CHECK(line.overridden_source == Source::thresholds);
  REQUIRE(line.override_cost);
  CHECK(*line.override_cost == Approx(2.0));
}

TEST_CASE("the cost of an override that was never measured is absent", "[kernels][routing]") {
  const Explanation line = selected_line(tuned({"NSA_USE_SEL_PACK=1"}));
  CHECK(line.overridden == std::optional<std::string>("attend_selected/gather"));
  CHECK(!line.override_cost);
}

TEST_CASE("an override that comes to the same replaces nothing", "[kernels][routing]") {
  Router::Inputs in = tuned();
  in.api.variants = {{Stage::attend_selected, id("attend_selected", "gather")}};
  const Explanation line = selected_line(std::move(in));
  CHECK(line.source == Source::api);
  CHECK(!line.overridden);
}

TEST_CASE("a slow path that a variable asked for is never silent", "[kernels][routing]") {
  const ExplainReport report = explain(Router(tuned({"NSA_USE_SEL_PACK=0"})), prefill(2048));
  CHECK(selected_line(report).slow_path);
  REQUIRE(!report.warnings.empty());
  CHECK(report.warnings.back().find("Using slow _sdpa_over_ranges") != std::string::npos);
  CHECK(report.warnings.back().find("NSA_USE_SEL_PACK=0") != std::string::npos);
  CHECK(explain(Router(tuned()), prefill(2048)).warnings.empty());
}

TEST_CASE("a stage that nothing can run says why, row by row", "[kernels][routing]") {
  Problem p = prefill(64);
  p.dtype = Dtype::fp64;
  const Explanation line = selected_line(tuned(), p);
  CHECK(line.variant.empty());
  CHECK(line.why.find("masked stores fp32, bf16") != std::string::npos);
  CHECK(line.why.find("fused_block: not built into this program") != std::string::npos);
}

TEST_CASE("stages of a model are left out where the problem has none", "[kernels][routing]") {
  for (const Explanation& line : explain(Router(tuned()), prefill(64)).decisions) {
    CHECK(line.stages.front() != Stage::project_rope);
    CHECK(line.stages.front() != Stage::model);
  }
}

TEST_CASE("the report obeys its JSON Schema, whatever the variables hold", "[kernels][routing]") {
  Router::Inputs in = tuned(
      {"NSA_USE_SEL_PACK=0", "NSA_FORCE_BRANCH=\xff\xfe", "NSA_NVTX=1", "NSA_VARLEN_RESERVE_N=7"});
  in.table->validators = validators_of(in.device);
  const Json j = explain_to_json(explain(Router(std::move(in)), prefill(2048)));
  CHECK_NOTHROW(validate_json(j, "explain", "explain"));
  CHECK(j["reserves"]["varlen_reserve_n"] == 7);
  CHECK(j["names"].size() == 4);
  Json broken = j;
  broken["decisions"][0].erase("source");
  CHECK_THROWS_AS(validate_json(broken, "explain", "explain"), InputError);
}

TEST_CASE("a backward window branch without a decision is said by its length",
          "[kernels][routing]") {
  const auto window_line = [](Direction direction) {
    Problem p = prefill(2048);
    p.direction = direction;
    Router::Inputs in = inputs();
    in.rows = catalog();
    for (const Explanation& line : explain(Router(std::move(in)), p).decisions) {
      if (line.stages.front() == Stage::attend_window) return line;
    }
    throw ContractError("no line for attend_window");
  };
  CHECK(window_line(Direction::forward).axis == Axis::row_len);
  const Explanation backward = window_line(Direction::backward);
  CHECK(backward.axis == Axis::seq_len);
  CHECK(backward.axis_value == 2048);
}
