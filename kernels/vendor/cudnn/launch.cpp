#include "nsa/kernels/device_memory.hpp"
#include "vendor/aligned_tensors.hpp"
#include "vendor/branch.hpp"
#include "vendor/cudnn/lse.hpp"
#include "vendor/cudnn/runs.hpp"
#include "vendor/cudnn/sdpa.hpp"

namespace nsa::vendor {
namespace {

void launch_run(const LaunchArgs& args, const BandTensors& t, std::span<const Sequence> run,
                SdpaShape shape) {
  const Sequence& first = run[0];
  const std::int64_t window = args.problem.geometry.window;
  const WindowKeys keys = window_keys(first, window);
  const RunSteps step = steps_of(run, keys);
  shape.batch = static_cast<std::int64_t>(run.size());
  shape.q_len = first.q_len;
  shape.kv_len = keys.count;
  shape.window = keys.bounded ? window : 0;
  shape.q = strides_of(t.q, step.q);
  shape.k = strides_of(t.kv.k, step.kv);
  shape.v = strides_of(t.kv.v, step.kv);
  shape.o = strides_of(t.o, step.q);
  const TensorView& lse = t.lse;
  shape.wants_lse = static_cast<bool>(lse);
  const WorkspaceScope scope(args.workspace);
  SdpaData data{.q = row<void>(t.q, first.q_begin),
                .k = row<void>(t.kv.k, keys.first_row),
                .v = row<void>(t.kv.v, keys.first_row),
                .o = row<void>(t.o, first.q_begin)};
  if (lse) {
    data.lse = args.workspace.take<float>(shape.batch * shape.q_heads * shape.q_len).data();
  }
  run_sdpa(shape, data, args.workspace, args.stream);
  if (lse) {
    spread_lse({.from = data.lse,
                .batch = shape.batch,
                .heads = shape.q_heads,
                .rows = shape.q_len,
                .to = row<float>(lse, first.q_begin),
                .sequence_stride = step.q * lse.stride[0],
                .row_stride = lse.stride[0],
                .head_stride = lse.stride[1]},
               args.stream);
  }
}

void launch_sdpa(const LaunchArgs& args) {
  const Problem& p = args.problem;
  const WorkspaceScope scope(args.workspace);
  const BandTensors tensors = aligned_tensors(args, Branch::win, false);
  const SdpaShape shape = shape_of(p, device::current_ordinal());
  for_each_run(args.sequences,
               [&](std::span<const Sequence> run) { launch_run(args, tensors, run, shape); });
  give_back(tensors, args);
}

}  // namespace

extern constinit const LaunchFunction kSdpa = launch_sdpa;

}  // namespace nsa::vendor
