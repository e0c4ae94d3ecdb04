// The oracle of gradients where one KV head speaks for all.
#include "nsa/kernels/backward_oracle.hpp"
#include "backward_support.hpp"

namespace nsa::test {
namespace {

/// Right gradients of a stage, in fp64.
std::vector<HostTensor> right_gradients(Stage stage, const Problem& p,
                                        const BackwardInputs& inputs) {
  std::vector<HostTensor> gradients = make_gradients(stage, p, Dtype::fp64);
  const auto right = reference::run_stage_backward(stage, p, inputs.views());
  for (std::size_t i = 0; i < right.size(); ++i)
    std::ranges::copy(right[i], gradients[i].view().as<double>());
  return gradients;
}

}  // namespace

TEST_CASE("of a large problem one KV head with its query heads is compared, alike for every length",
          "[kernels][backward]") {
  Problem p = backward_of(middle_problem());
  p.dtype = Dtype::fp64;
  REQUIRE(p.kv_heads > 1);
  for (const Stage stage : kAttendStages) {
    const BackwardInputs inputs = make_backward_inputs(stage, p, 5);
    const std::vector<HostTensor> right = right_gradients(stage, p, inputs);
    CHECK(BackwardOracle(stage, p, inputs.views()).kv_heads() == p.kv_heads);
    for (std::int64_t head = 0; head < p.kv_heads; ++head) {
      const HeadSample sample{static_cast<std::uint64_t>(head + p.kv_heads), 0};
      const BackwardOracle oracle(stage, p, inputs.views(), {}, sample);
      CHECK(oracle.kv_heads() == 1);
      for (std::size_t gradient = 0; gradient < right.size(); ++gradient) {
        const TensorView view = right[gradient].view();
        const std::int64_t heads = view.shape[1] / p.kv_heads;
        for (std::int64_t wrong = 0; wrong < p.kv_heads; ++wrong) {
          std::vector<HostTensor> gradients = right;
          const TensorView changed = gradients[gradient].view();
          changed.as<double>()[changed.at(changed.shape[0] - 1, wrong * heads + heads - 1)] += 1;
          std::vector<TensorView> views;
          for (const HostTensor& tensor : gradients) views.push_back(tensor.view());
          INFO(to_string(stage) << ", gradient " << gradient << ", head " << head << ", wrong in "
                                << wrong);
          const Oracle::Verdict verdict = oracle.verify(views);
          CHECK((verdict.worst_row_error > 1e-6) == (wrong == head));
          if (wrong == head) CHECK(verdict.worst_row == changed.shape[0] - 1);
        }
      }
    }
  }
}

TEST_CASE("the two sides of a check look at two KV heads, and other lengths at others",
          "[kernels][backward]") {
  std::vector<int> counts(4);
  for (std::int64_t tokens = 2048; tokens < 2248; ++tokens) {
    Problem p;
    p.seq_lens = {tokens};
    const HeadSample one = HeadSample::of(p);
    CHECK(one.choice % 4 != one.after().choice % 4);
    CHECK(one.after().most_flop == one.most_flop);
    ++counts[one.choice % 4];
  }
  CHECK(std::ranges::min(counts) > 25);
}

}  // namespace nsa::test
