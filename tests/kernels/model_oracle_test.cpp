// The model as a row of the table: its logits against a run in fp64.
#include "catch.hpp"
#include "launch_support.hpp"

namespace nsa::test {
namespace {

/// Four layers, long enough for every branch to leave something out.
Problem model_problem(Dtype dtype) {
  Problem p;
  p.seq_lens = {150, 37};
  p.context_lens = {0, 0};
  p.q_heads = 4;
  p.kv_heads = 2;
  p.head_dim_k = p.head_dim_v = 16;
  p.geometry = {8, 4, 16, 4, 24};
  p.dtype = dtype;
  p.selection.pattern = SelectionPattern::recorded;
  p.model = {64, 4, 32};
  return p;
}

double error_of(const Variant& variant, const Problem& problem, Role role) {
  const auto inputs = make_inputs(Stage::model, problem, 3);
  const auto in = views_of(inputs);
  const auto outputs = launch(variant, problem, in);
  const auto verdict = Oracle(Stage::model, problem, in, {}, role).verify(views_of(outputs));
  CHECK(verdict.poison_left == 0);
  CHECK(verdict.non_finite == 0);
  return verdict.worst_row_error;
}

}  // namespace

TEST_CASE("every plan of a model gives the logits of an fp64 run", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const std::string name = GENERATE("batched", "sequential", "dense");
  const Variant& variant = cpu_variant(Stage::model, name);
  INFO(name << " in " << to_string(dtype));
  CHECK(error_of(variant, model_problem(dtype), variant.role) <=
        row_tolerance(Stage::model, dtype));
}

TEST_CASE("a model with another attention is not taken for a right one", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16);
  const Problem problem = model_problem(dtype);
  const double tolerance = row_tolerance(Stage::model, dtype);
  CHECK(error_of(cpu_variant(Stage::model, "dense"), problem, Role::candidate) > tolerance);
  CHECK(error_of(cpu_variant(Stage::model, "batched"), problem, Role::baseline) > tolerance);
}

}  // namespace nsa::test
