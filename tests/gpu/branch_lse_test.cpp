// The log-sum-exp that a backward pass needs, from every row of the window and of the compressed
// branch, by the caller's strides.
#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// FlashInfer sums the weights as it multiplies them by V, rounded to the storage type: half a unit
/// in the last place of bf16 is 2^-9 of the sum.
double lse_tolerance(const Variant& variant, Dtype dtype) {
  const bool rounds = variant.name.starts_with("fa2") && dtype == Dtype::bf16;
  return rounds ? 1.0 / 512 + 1e-4 : 1e-3;
}

void check_row(const Variant& variant, const Problem& p, const std::vector<HostTensor>& inputs,
               const std::vector<double>& want, std::int64_t row_gap, CUstream_st* stream) {
  INFO(variant.name << " " << describe(p) << " gap " << row_gap);
  const SavingRun run = produce_saving(variant, p, upload(inputs, stream), stream, {}, row_gap);
  check_lse(run.lse, want, lse_tolerance(variant, p.dtype));
}

}  // namespace

TEST_CASE("the saved log-sum-exp of the window and the compressed branch is right in every row",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  int checked = 0;
  for (const Stage stage : {Stage::attend_window, Stage::attend_compressed}) {
    for (const Problem& p : {small_problem({150}, {0}, 12, 2, 64, 64, Dtype::bf16),
                             small_problem({40, 40}, {90, 200}, 4, 2, 128, 128, Dtype::fp16),
                             small_problem({1, 1}, {99, 500}, 12, 2, 64, 64, Dtype::bf16),
                             small_problem({5, 40}, {3, 0}, 6, 2, 64, 64, Dtype::fp32)}) {
      const auto inputs = make_inputs(stage, p, 7);
      const auto want = expected_lse(stage, p, inputs);
      const auto of_stage = [&](const Variant& row) {
        return row.stages.size() == 1 && row.stages.front() == stage;
      };
      for (const Variant* variant : cuda_rows(of_stage)) {
        if (!supports(*variant, p, *device).supported) continue;
        check_row(*variant, p, inputs, want, 0, stream.get());
        check_row(*variant, p, inputs, want, 3, stream.get());
        ++checked;
      }
    }
  }
  CHECK(checked > 10);
}
