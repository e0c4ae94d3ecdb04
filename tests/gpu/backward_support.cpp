#include "backward_support.hpp"

#include <algorithm>

#include "nsa/schemas/generator.hpp"

namespace nsa::test {
namespace {

/// The forward row that runs the stage where nobody has measured.
const Variant& forward_row(Stage stage, const Problem& problem) {
  const auto device = gpu_or_skip();
  REQUIRE(device);
  for (const Variant* row : candidates_of(stage, Backend::cuda)) {
    if (supports(*row, problem, *device).supported) return *row;
  }
  FAIL("no forward row for " << describe(problem));
  return *candidates_of(stage, Backend::cuda).front();
}

/// The forward pass of its inputs in front of `inputs`.
SavingRun run_forward(Stage stage, Problem problem, const std::vector<HostTensor>& inputs,
                      CUstream_st* stream) {
  problem.direction = Direction::forward;
  const Variant& row = forward_row(stage, problem);
  const auto count = static_cast<std::ptrdiff_t>(signature_of(stage).inputs.size());
  const auto in = upload({inputs.begin(), inputs.begin() + count}, stream);
  return produce_saving(row, problem, in, stream);
}

bool attends(Stage stage) {
  return stage == Stage::attend_compressed || stage == Stage::attend_selected ||
         stage == Stage::attend_window;
}

}  // namespace

std::vector<const Variant*> cuda_backward_rows(Stage stage) {
  return cuda_rows([&](const Variant& row) {
    return row.direction == Direction::backward && row.stages.size() == 1 &&
           row.stages.front() == stage;
  });
}

Problem backward_of(Problem p) {
  p.direction = Direction::backward;
  return p;
}

std::vector<HostTensor> launch_backward(const Variant& row, const Problem& problem,
                                        const BackwardInputs& inputs,
                                        std::vector<HostTensor> gradients, CUstream_st* stream,
                                        const BackwardRun& run) {
  const auto in = upload(inputs.tensors, stream, run.row_gap, run.offset);
  const auto out = upload(gradients, stream, run.row_gap, run.offset);
  Saved saved = inputs.saved();
  std::vector<DeviceTensor> kept;
  kept.reserve(3);
  for (TensorView* lse : {&saved.lse_cmp, &saved.lse_sel, &saved.lse_win}) {
    if (!*lse) continue;
    for (const HostTensor& tensor : inputs.kept) {
      if (tensor.bytes.data() != lse->as<std::byte>()) continue;
      kept.emplace_back(tensor, stream, run.row_gap);
      *lse = kept.back().view();
      break;
    }
  }
  Launchable launchable(row, problem, views(in), views(out), stream, &saved, run.point);
  launchable.set_options(run.options);
  launchable.launch(run.accumulate);
  CHECK(launchable.workspace_bytes() <= workspace_of(row, problem));
  return download(out, stream);
}

double worst_gradient_error(const reference::Row& expected, const HostTensor& produced) {
  return worst_row_error(expected, produced, typical_norm(expected, produced.shape.shape[0]) / 4);
}

void check_gradients(const std::vector<reference::Row>& expected,
                     const std::vector<HostTensor>& produced, double tolerance) {
  REQUIRE(expected.size() == produced.size());
  for (std::size_t i = 0; i < produced.size(); ++i) {
    INFO(produced[i].name);
    CHECK(worst_gradient_error(expected[i], produced[i]) <= tolerance);
  }
}

BackwardInputs inputs_by_device(Stage stage, const Problem& problem, std::uint64_t seed,
                                CUstream_st* stream) {
  REQUIRE(attends(stage));
  BackwardInputs inputs;
  Problem asked = problem;
  asked.direction = Direction::forward;
  inputs.tensors = make_inputs(stage, asked, seed);
  SavingRun forward = run_forward(stage, problem, inputs.tensors, stream);
  HostTensor d_o = forward.o;
  const std::int64_t count = d_o.view().elements();
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    numbers[static_cast<std::size_t>(i)] =
        generate(static_cast<std::uint64_t>(i), seed + 100, kUnitVarianceScale);
  store_row(d_o.view(), 0, count, numbers.data());
  inputs.tensors.push_back(std::move(forward.o));
  inputs.tensors.push_back(std::move(d_o));
  inputs.kept.push_back(std::move(forward.lse));
  inputs.kept.back().name = stage == Stage::attend_compressed ? "lse_cmp"
                            : stage == Stage::attend_selected ? "lse_sel"
                                                              : "lse_win";
  return inputs;
}

void follow_blocks(BackwardInputs& inputs, const Problem& p, CUstream_st* stream) {
  const auto* blocks = inputs.tensors[3].view().as<const std::int32_t>();
  auto* ranges = inputs.tensors[4].view().as<std::int32_t>();
  const std::int64_t n = p.geometry.sel_count;
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t i = 0; i < s.q_len * p.kv_heads; ++i) {
      const std::int64_t row = s.q_begin * p.kv_heads + i;
      std::vector<std::int32_t> ids(blocks + row * n, blocks + (row + 1) * n);
      std::sort(ids.begin(), ids.end());  // ranges ascend, whatever the order of the blocks
      blocks_to_ranges(p.geometry, s.first_position() + i / p.kv_heads,
                       num_blocks(s.kv_len, p.geometry), ids.data(), ranges + row * n * 2);
    }
  }
  SavingRun forward = run_forward(Stage::attend_selected, p, inputs.tensors, stream);
  inputs.tensors[5] = std::move(forward.o);
  inputs.kept[0].bytes = std::move(forward.lse.bytes);
}

}  // namespace nsa::test
