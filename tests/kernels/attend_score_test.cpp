// The row of the CPU that attends to the compressed tokens and selects the blocks at once, against
// the rows of the one stage and of the other.
#include <cmath>

#include "attend_support.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

constexpr std::array kBoth{Stage::attend_compressed, Stage::score};

/// Outputs of a launch and what it saved.
struct Launched {
  std::vector<float> lse;
  HostTensor blocks;
  std::vector<HostTensor> outputs;

  Launched(const Variant& variant, const Problem& p, const std::vector<TensorView>& in)
      : lse(static_cast<std::size_t>(p.total_tokens() * p.q_heads), 99.0f),
        blocks(make_outputs(Stage::score, p).front()) {
    Saved saved;
    saved.lse_cmp = make_view(lse.data(), Dtype::fp32, {p.total_tokens(), p.q_heads});
    saved.blocks = blocks.view();
    outputs = launch(variant, p, in, {}, {}, &saved);
  }
};

/// ||a - b|| / ||b|| of the row that is furthest apart.
double worst_distance(const HostTensor& a, const HostTensor& b) {
  double worst = 0;
  for (std::int64_t r = 0; r < a.view().shape[0]; ++r) {
    const std::vector<double> x = row_of(a, r), y = row_of(b, r);
    double apart = 0, norm = std::numeric_limits<double>::min();
    for (std::size_t i = 0; i < x.size(); ++i) {
      apart += (x[i] - y[i]) * (x[i] - y[i]);
      norm += y[i] * y[i];
    }
    worst = std::max(worst, std::sqrt(apart / norm));
  }
  return worst;
}

void compare_with_separate_rows(const Problem& p, std::uint64_t seed) {
  INFO(describe(p));
  const auto inputs = make_inputs(kBoth, p, seed);
  const auto in = views_of(inputs);
  const Launched both(cpu_variant(kBoth, "fused"), p, in);
  const Launched branch(cpu_variant(Stage::attend_compressed, "sdpa_math"), p, in);
  const Launched blocks(cpu_variant(Stage::score, "materialised"), p, {in[0], in[1]});
  CHECK(both.outputs[1].bytes == blocks.outputs[0].bytes);
  CHECK(both.blocks.bytes == blocks.outputs[0].bytes);
  CHECK(worst_distance(both.outputs[0], branch.outputs[0]) <=
        row_tolerance(Stage::attend_compressed, p.dtype));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < both.lse.size(); ++i) {
    const bool equal = both.lse[i] == branch.lse[i];  // -inf too
    wrong += !equal && !(std::abs(both.lse[i] - branch.lse[i]) < 1e-5);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("both stages at once give the blocks of materialised and the output of sdpa_math",
          "[kernels][attend]") {
  const auto seed = GENERATE(range(0, 40));
  Dice dice(static_cast<std::uint32_t>(seed));
  compare_with_separate_rows(random_problem(dice), static_cast<std::uint64_t>(seed));
}

TEST_CASE("both stages at once do as the separate rows on the shape of a model",
          "[kernels][attend]") {
  Problem p;  // 12/2 heads of 64, l 32, d 16, l' 64, n 16
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {300, 1, 17};
  p.context_lens = {1800, 4095, 0};
  p.dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  compare_with_separate_rows(p, 31);
}

TEST_CASE("a query before the first compressed token has zeros, log-sum-exp -inf and its blocks",
          "[kernels][attend]") {
  Problem p = middle_problem(7);  // l = 8
  p.seq_lens = {7, 1, 9};
  p.context_lens = {0, 6, 0};
  p.phase = Phase::chunked_prefill;
  const auto inputs = make_inputs(kBoth, p, 32);
  const Launched both(cpu_variant(kBoth, "fused"), p, views_of(inputs));
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < p.total_tokens(); ++row) {
    const bool sees = row >= 15;  // positions 7 and 8 of the last sequence
    for (const double x : row_of(both.outputs[0], row)) wrong += (x != 0) != sees;
    for (std::int64_t h = 0; h < p.q_heads; ++h)
      wrong += std::isinf(both.lse[static_cast<std::size_t>(row * p.q_heads + h)]) == sees;
  }
  CHECK(wrong == 0);
  const auto views = views_of(inputs);
  const std::vector<TensorView> q_and_k_cmp{views[0], views[1]};
  CHECK(both.outputs[1].bytes ==
        launch(cpu_variant(Stage::score, "materialised"), p, q_and_k_cmp)[0].bytes);
}

}  // namespace nsa::test
