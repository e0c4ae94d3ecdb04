// A NaN or an Inf harms the rows that read it and no others, whatever the kernel multiplies by 0.
#include <cmath>

#include "attend_support.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

struct Harm {
  const char* what;
  std::size_t tensor;  // 0 q, 1 k, 2 v
  double value;
};

/// Sees the oracle any key of `row` in this run? NaN in the oracle's row says so.
bool harmed(const Oracle& oracle, std::int64_t row) {
  for (const double x : oracle.row(0, row)) {
    if (!std::isfinite(x)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a NaN or Inf in q, k or v stays in the rows that read it", "[kernels][attend]") {
  const Harm harm = GENERATE(Harm{"NaN in a query", 0, NAN}, Harm{"NaN in a key", 1, NAN},
                             Harm{"NaN in a value", 2, NAN}, Harm{"Inf in a value", 2, INFINITY});
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp64);
  const std::int64_t at = GENERATE(30, 95);  // token, or compressed token
  Problem problem = middle_problem();
  problem.dtype = dtype;
  for (const Stage stage : kAttendStages) {
    auto inputs = make_inputs(stage, problem, 3);
    HostTensor& tensor = inputs[harm.tensor];
    const std::int64_t row = stage == Stage::attend_compressed && harm.tensor > 0 ? at / 4 : at;
    set_element(tensor, row * tensor.view().stride[0], harm.value);
    const auto in = views_of(inputs);
    const Oracle oracle(stage, problem, in);
    for (const Variant* variant : cpu_rows(stage)) {
      for (const VariantId& id : ids_of(*variant)) {
        INFO(harm.what << " " << to_string(id) << " " << to_string(dtype) << " at " << row);
        const auto outputs = launch(*variant, problem, in, id.point);
        std::int64_t wrong = 0, sick = 0;
        for (std::int64_t r = 0; r < oracle.rows(0); ++r) {
          const RowError error = oracle.compare(0, r, outputs[0].view());
          const bool expected = harmed(oracle, r);
          sick += expected;
          // The oracle expects the NaN of a harmed row: one too many or too few is an error.
          if (error.non_finite || !(error.relative_l2 <= row_tolerance(stage, dtype))) ++wrong;
        }
        CHECK(sick > 0);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("tokens after t change nothing at t, not even as NaN", "[kernels][attend]") {
  const Problem problem = middle_problem();
  const std::int64_t last = 77;  // rows up to here must not change
  for (const Stage stage : kAttendStages) {
    auto inputs = make_inputs(stage, problem, 5);
    const auto clean = inputs;
    const bool compressed = stage == Stage::attend_compressed;
    for (const std::size_t tensor : {1u, 2u}) {
      const TensorView view = inputs[tensor].view();
      const std::int64_t first = compressed ? num_compressed(last + 1, problem.geometry) : last + 1;
      for (std::int64_t i = first * view.stride[0]; i < view.elements(); ++i) {
        set_element(inputs[tensor], i, NAN);
      }
    }
    for (const Variant* variant : cpu_rows(stage)) {
      INFO(to_string(stage) << " " << variant->name);
      const auto before = launch(*variant, problem, views_of(clean));
      const auto after = launch(*variant, problem, views_of(inputs));
      std::int64_t changed = 0;
      for (std::size_t i = 0; i < before.size(); ++i) {
        for (std::int64_t r = 0; r <= last; ++r) changed += !same_row(before[i], after[i], r);
      }
      CHECK(changed == 0);
    }
  }
}

}  // namespace nsa::test
