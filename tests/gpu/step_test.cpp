// Attention of a decode step as one kernel: few and small problems, so that a sanitizer can take
// them; and ties, which have one right answer.
#include <algorithm>
#include <array>

#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// The device where it runs the kernel.
std::optional<Device> gpu_with_steps() {
  return hopper_or_skip(cuda_row(Stage::attention, "fused_step"),
                        small_problem({1}, {40}, 6, 2, 32, 32, Dtype::bf16));
}

/// o and blocks of a step.
std::vector<HostTensor> run_step(const Problem& problem, const std::vector<HostTensor>& inputs,
                                 CUstream_st* stream) {
  return produce(cuda_row(Stage::attention, "fused_step"), problem, inputs, stream);
}

}  // namespace

TEST_CASE("one kernel of a decode step gives the oracle's answer, small enough for a sanitizer",
          "[gpu]") {
  const auto gpu = gpu_with_steps();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : kDeviceTypes) {
    for (const Problem& problem : {small_problem({1, 1}, {150, 7}, 12, 2, 64, 64, dtype),
                                   small_problem({1}, {99}, 16, 1, 96, 40, dtype),
                                   small_problem({1}, {64}, 3, 1, 20, 33, dtype)}) {
      INFO(describe(problem));
      const auto inputs = make_inputs(Stage::attention, problem, 11);
      const auto produced = run_step(problem, inputs, stream.get());
      const auto in = views(inputs);
      const auto verdict = Oracle(Stage::attention, problem, in).verify(views(produced));
      CHECK(verdict.worst_row_error <= row_tolerance(Stage::attention, dtype));
      CHECK(verdict.poison_left == 0);
      CHECK(verdict.non_finite == 0);
    }
  }
}

TEST_CASE("a decode step takes the lowest of the blocks that tie, on every type", "[gpu]") {
  const auto gpu = gpu_with_steps();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : kDeviceTypes) {
    // 40 blocks of 16 tokens, five taken: 0 and the last two are forced, the others all tie.
    const Problem problem = small_problem({1}, {639}, 12, 2, 64, 64, dtype);
    auto inputs = make_inputs(Stage::attention, problem, 11);
    std::fill(inputs[1].bytes.begin(), inputs[1].bytes.end(), std::byte{0});  // k_cmp_raw
    const auto produced = run_step(problem, inputs, stream.get());
    const auto* blocks = produced[1].view().as<const std::int32_t>();
    const std::array<std::int32_t, 5> expected{0, 1, 2, 38, 39};
    for (std::int64_t head = 0; head < problem.kv_heads; ++head) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO(to_string(dtype) << " head " << head << " place " << i);
        CHECK(blocks[static_cast<std::size_t>(head) * 5 + i] == expected[i]);
      }
    }
  }
}
