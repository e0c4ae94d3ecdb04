// Selected attention on hand-made ranges: empty rows, ranges of negative length, overlaps; and the
// log-sum-exp that a backward pass needs.
#include <algorithm>

#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::size_t kRangesInput = 4;

/// Odd ranges say nothing to a row that takes blocks.
bool reads_ranges(const Variant& variant) {
  return std::find(variant.ignores.begin(), variant.ignores.end(), "ranges") ==
         variant.ignores.end();
}

std::vector<const Variant*> selected_rows() {
  return cuda_rows([](const Variant& variant) {
    return variant.direction == Direction::forward &&
           variant.stages.front() == Stage::attend_selected && reads_ranges(variant);
  });
}

}  // namespace

TEST_CASE("rows that select nothing are zeros, overlaps count once, on every CUDA row", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    const Problem problem = small_problem({100}, {0}, 6, 2, 64, 64, dtype);
    const auto inputs = odd_selected_inputs(problem);
    for (const Variant* variant : selected_rows()) {
      if (!supports(*variant, problem, *device).supported) continue;  // no fp32, for instance
      INFO(variant->name << " " << describe(problem));
      check_launch(*variant, problem, inputs, stream.get());
    }
  }
}

TEST_CASE("the saved log-sum-exp is that of the selected keys, -inf where there are none",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    const Problem problem = small_problem({60}, {0}, 6, 2, 64, 64, dtype);
    const auto inputs = odd_selected_inputs(problem);
    const auto in = upload(inputs, stream.get());
    const auto want = expected_lse(Stage::attend_selected, problem, inputs);
    for (const Variant* variant : selected_rows()) {
      if (!supports(*variant, problem, *device).supported) continue;  // no fp32, for instance
      INFO(variant->name << " " << describe(problem));
      check_lse(produce_saving(*variant, problem, in, stream.get()).lse, want, 1e-4);
    }
  }
}

TEST_CASE("varlen_v2 cuts a row that holds more than n l' keys: its copies have no more room",
          "[gpu]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  const Problem problem = small_problem({300}, {0}, 6, 2, 64, 64, Dtype::bf16);
  const std::int64_t most = problem.geometry.sel_count * problem.geometry.sel_block;
  const auto run = [&](std::int64_t longest) {
    auto inputs = make_inputs(Stage::attend_selected, problem, 11);
    for (std::int64_t row = 0; row < problem.total_tokens() * problem.kv_heads; ++row) {
      const std::int64_t seen = row / problem.kv_heads + 1;
      set_ranges(inputs[kRangesInput], problem, row,
                 {0, static_cast<std::int32_t>(std::min(seen, longest))});
    }
    const Variant& row = cuda_row(Stage::attend_selected, "varlen_v2");
    return produce(row, problem, inputs, stream.get()).front().bytes;
  };
  CHECK(run(problem.total_tokens()) == run(most));
}
