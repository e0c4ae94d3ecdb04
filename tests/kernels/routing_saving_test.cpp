// Forward launches that save what the backward pass reads: decisions of their own, and whose they
// follow where there are none.
#include "catch.hpp"
#include "nsa/kernels/directions.hpp"
#include "routing_support.hpp"

namespace nsa::test {
namespace {

Problem saving(Problem p) { return in_direction(std::move(p), kForwardSaving); }

void add(Router::Inputs& in, std::string_view name, const Problem& problem) {
  ThresholdTable more = always(in.device, name, problem);
  if (!in.table)
    in.table = std::move(more);
  else
    in.table->classes.push_back(std::move(more.classes.front()));
}

std::string why(const Router& router, const Problem& problem) {
  for (const Explanation& line : explain(router, problem).decisions)
    if (line.stages.front() == Stage::attend_selected) return line.why;
  return "no line";
}

}  // namespace

TEST_CASE("launches that save are decided by themselves", "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.table_path = "t.json";
  add(in, "gather", prefill(2048));
  add(in, "masked", saving(prefill(2048)));
  const Router router(std::move(in));
  CHECK(chosen(router, Stage::attend_selected, prefill(2048)) == "gather");
  CHECK(chosen(router, Stage::attend_selected, saving(prefill(2048))) == "masked");
  CHECK(why(router, saving(prefill(2048))) == "seq_len [0, ...) of t.json");
}

TEST_CASE("a table without a class that saves decides as for launches that do not, and says so",
          "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.table_path = "t.json";
  add(in, "gather", prefill(2048));
  const Router router(std::move(in));
  const Choice choice = router.choose(Stage::attend_selected, saving(prefill(2048)));
  REQUIRE(choice.variant);
  CHECK(choice.variant->name == "gather");
  CHECK(choice.source == Source::thresholds);
  CHECK(choice.fit == Fit::exact);
  CHECK(why(router, saving(prefill(2048))) ==
        "seq_len [0, ...) of t.json, taken from launches that do not save: no measured decision "
        "for launches that save here");
  CHECK(why(router, prefill(2048)) == "seq_len [0, ...) of t.json");
}

TEST_CASE("a class of the same shape that does not save beats one of another shape that does",
          "[kernels][routing]") {
  Problem wide = prefill(2048);
  wide.head_dim_k = wide.head_dim_v = 128;
  Router::Inputs in = inputs();
  add(in, "gather", prefill(2048));
  add(in, "masked", saving(wide));
  const Router router(std::move(in));
  CHECK(chosen(router, Stage::attend_selected, saving(prefill(2048))) == "gather");
  CHECK(chosen(router, Stage::attend_selected, saving(wide)) == "masked");
}

TEST_CASE("a length that was measured without saving alone is decided so", "[kernels][routing]") {
  const bool extrapolated = GENERATE(false, true);
  CAPTURE(extrapolated);
  Router::Inputs in = inputs();
  in.table_path = "t.json";
  add(in, "gather", prefill(2048));
  add(in, "masked", saving(prefill(2048)));
  std::vector<ThresholdRange>& ranges = in.table->classes.back().decisions.front().ranges;
  ranges.front().to = 4096;
  if (extrapolated) {
    ThresholdRange beyond = ranges.front();
    beyond.from = 4096;
    beyond.to.reset();
    beyond.basis = Basis::extrapolated;
    ranges.push_back(beyond);
  }
  const Router router(std::move(in));
  CHECK(chosen(router, Stage::attend_selected, saving(prefill(4095))) == "masked");
  CHECK(chosen(router, Stage::attend_selected, saving(prefill(4096))) == "gather");
  CHECK(why(router, saving(prefill(4096))) ==
        "seq_len [0, ...) of t.json, taken from launches that do not save: no measured decision "
        "for launches that save here");
}

TEST_CASE("a class that saves decides nothing else", "[kernels][routing]") {
  Router::Inputs in = inputs();
  add(in, "masked", saving(prefill(2048)));
  const Router router(std::move(in));
  CHECK(chosen(router, Stage::attend_selected, prefill(2048)) == "fused_query");
  CHECK(chosen(router, Stage::attend_selected, saving(prefill(2048))) == "masked");
}

TEST_CASE("wishes for forward launches hold for those that save", "[kernels][routing]") {
  const bool by_variable = GENERATE(false, true);
  Router::Inputs in = by_variable ? inputs({"NSA_FORCE_SEL_MASK=1"}) : inputs();
  if (!by_variable)
    in.api.variants.emplace_back(Stage::attend_selected, id("attend_selected", "masked"));
  add(in, "gather", saving(prefill(2048)));
  CHECK(chosen(Router(std::move(in)), Stage::attend_selected, saving(prefill(2048))) == "masked");
}

TEST_CASE("rows of the forward pass save, under their own name and code", "[kernels][routing]") {
  std::size_t saving_rows = 0;
  for (const Variant& row : catalog()) {
    const bool saves =
        std::ranges::find(directions_of(row), kForwardSaving) != directions_of(row).end();
    const bool of_a_branch =
        std::ranges::any_of(row.stages, [](Stage s) { return !saved_by(s).empty(); });
    INFO(stages_text(row.stages) << "/" << row.name);
    CHECK(saves == (of_a_branch && row.direction == Direction::forward));
    CHECK(row.direction != kForwardSaving);
    if (saves) CHECK(find_variant(row.stages, row.name, row.backend, kForwardSaving) == &row);
    saving_rows += saves ? 1 : 0;
  }
  CHECK(saving_rows > 30);
  for (const Stage stage : {Stage::attention, Stage::layer, Stage::model})
    CHECK(candidates_of(stage, Backend::cpu, kForwardSaving).empty());
}

}  // namespace nsa::test
