#include "cuda/memory/alignment.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/attend_backward.hpp"
#include "vendor/aligned_tensors.hpp"
#include "vendor/cudnn/backward.hpp"
#include "vendor/cudnn/gradients.hpp"
#include "vendor/cudnn/runs.hpp"

namespace nsa::vendor {
namespace {

/// A gradient of a run of sequences: written where it belongs, or packed and then put there.
class RunGradient {
 public:
  /// cuDNN writes `rows` rows of each sequence, from the row `first` of `view` on; `step` rows lie
  /// between sequences, and `unseen` in front of each have no gradient.
  RunGradient(const LaunchArgs& args, const TensorView& view, BandBackwardTensors::Output output,
              std::int64_t heads, std::int64_t dim, PackedGradient place)
      : place_(place) {
    const Problem& p = args.problem;
    place_.heads = heads;
    place_.dim = dim;
    const bool adds = args.adds_to(output);
    const bool direct =
        view && !adds && view.dtype == p.dtype && place.unseen == 0 && cuda::rows_are_vectors(view);
    if (direct) {
      data = row<void>(view, place.first);
      strides = strides_of(view, place.step);
      return;
    }
    const std::int64_t numbers = place.batch * place.rows * heads * dim;
    data = args.workspace.take(static_cast<std::size_t>(numbers) * size_of(p.dtype));
    strides = {place.rows * heads * dim, heads * dim, dim};
    if (!view) return;
    place_.from = data;
    place_.to = {.data = view.data,
                 .row_stride = view.stride[0],
                 .head_stride = view.stride[1],
                 .fp32 = view.dtype == Dtype::fp32,
                 .accumulate = adds};
    place_.first -= place.unseen;
  }
  /// Once cuDNN's launch is enqueued.
  void put(const LaunchArgs& args) const {
    if (place_.from) put_gradient(place_, args.problem.dtype, args.stream);
  }

  void* data = nullptr;
  SdpaStrides strides;

 private:
  PackedGradient place_;
};

void launch_run(const LaunchArgs& args, const BandBackwardTensors& t, std::span<const Sequence> run,
                SdpaBackwardShape shape) {
  const Sequence& first = run[0];
  const std::int64_t window = args.problem.geometry.window;
  const WindowKeys keys = window_keys(first, window);
  const RunSteps step = steps_of(run, keys);
  SdpaShape& s = shape.attend;
  s.batch = static_cast<std::int64_t>(run.size());
  s.q_len = first.q_len;
  s.kv_len = keys.count;
  s.window = keys.bounded ? window : 0;
  s.q = strides_of(t.q, step.q);
  s.k = strides_of(t.kv.k, step.kv);
  s.v = strides_of(t.kv.v, step.kv);
  s.o = strides_of(t.o, step.q);
  shape.d_o = strides_of(t.d_o, step.q);
  const WorkspaceScope scope(args.workspace);
  PackedGradient queries, of_keys;
  queries.batch = of_keys.batch = s.batch;
  queries.rows = s.q_len;
  queries.first = first.q_begin;
  queries.step = step.q;
  of_keys.rows = keys.count;
  of_keys.first = keys.first_row;
  of_keys.step = step.kv;
  of_keys.unseen = keys.first_row - first.kv_begin;
  const RunGradient d_q(args, t.d_q, BandBackwardTensors::kDQ, s.q_heads, s.dk, queries);
  const RunGradient d_k(args, t.d_kv.k, BandBackwardTensors::kDK, s.kv_heads, s.dk, of_keys);
  const RunGradient d_v(args, t.d_kv.v, BandBackwardTensors::kDV, s.kv_heads, s.dv, of_keys);
  shape.d_q = d_q.strides;
  shape.d_k = d_k.strides;
  shape.d_v = d_v.strides;
  float* const lse = args.workspace.take<float>(s.batch * s.q_heads * s.q_len).data();
  gather_lse({.from = row<float>(t.lse, first.q_begin),
              .sequence_stride = step.q * t.lse.stride[0],
              .row_stride = t.lse.stride[0],
              .head_stride = t.lse.stride[1],
              .to = lse,
              .batch = s.batch,
              .heads = s.q_heads,
              .rows = s.q_len},
             args.stream);
  run_sdpa_backward(shape,
                    {.q = row<void>(t.q, first.q_begin),
                     .k = row<void>(t.kv.k, keys.first_row),
                     .v = row<void>(t.kv.v, keys.first_row),
                     .o = row<void>(t.o, first.q_begin),
                     .d_o = row<void>(t.d_o, first.q_begin),
                     .lse = lse,
                     .d_q = d_q.data,
                     .d_k = d_k.data,
                     .d_v = d_v.data},
                    args.workspace, args.stream);
  for (const RunGradient* gradient : {&d_q, &d_k, &d_v}) gradient->put(args);
}

template <bool kDeterministic>
void launch_sdpa_backward(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  BandBackwardTensors tensors = BandBackwardTensors::of(args, Branch::win);
  expects(static_cast<bool>(tensors.lse), "the log-sum-exp that the forward launch saved");
  for (TensorView* tensor : {&tensors.q, &tensors.kv.k, &tensors.kv.v, &tensors.o, &tensors.d_o})
    *tensor = aligned(*tensor, args);
  SdpaBackwardShape shape;
  shape.attend = shape_of(args.problem, device::current_ordinal());
  shape.deterministic = kDeterministic;
  for_each_run(args.sequences,
               [&](std::span<const Sequence> run) { launch_run(args, tensors, run, shape); });
}

}  // namespace

extern constinit const LaunchFunction kSdpaBackward = launch_sdpa_backward<false>;
extern constinit const LaunchFunction kSdpaOrderedBackward = launch_sdpa_backward<true>;

}  // namespace nsa::vendor
