#include <algorithm>

#include "nsa/kernels/device_memory.hpp"
#include "nsa/schemas/error.hpp"
#include "vendor/aligned_tensors.hpp"
#include "vendor/branch.hpp"
#include "vendor/cudnn/lse.hpp"
#include "vendor/cudnn/sdpa.hpp"
#include "vendor/cudnn/window_keys.hpp"

namespace nsa::vendor {
namespace {

template <class T>
T* row(const TensorView& tensor, std::int64_t index) {
  return reinterpret_cast<T*>(tensor.as<char>() +
                              index * tensor.stride[0] *
                                  static_cast<std::int64_t>(size_of(tensor.dtype)));
}

/// Strides of a run of sequences that lie `rows` rows apart.
SdpaStrides strides_of(const TensorView& tensor, std::int64_t rows) {
  return {rows * tensor.stride[0], tensor.stride[0], tensor.stride[1]};
}

/// How many sequences from the first one on are alike and lie at equal distances.
std::size_t alike(std::span<const Sequence> all) {
  const auto like_first = [&](std::size_t i) {
    const Sequence &a = all[0], &b = all[1], &s = all[i];
    const auto n = static_cast<std::int64_t>(i);
    return s.q_len == a.q_len && s.kv_len == a.kv_len &&
           s.q_begin == a.q_begin + n * (b.q_begin - a.q_begin) &&
           s.kv_begin == a.kv_begin + n * (b.kv_begin - a.kv_begin);
  };
  std::size_t count = 1;
  while (count < all.size() && like_first(count)) ++count;
  return count;
}

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
  SdpaData data{row<void>(t.q, first.q_begin), row<void>(t.kv.k, keys.first_row),
                row<void>(t.kv.v, keys.first_row), row<void>(t.o, first.q_begin), nullptr};
  if (lse) {
    data.lse = args.workspace.take<float>(shape.batch * shape.q_heads * shape.q_len).data();
  }
  run_sdpa(shape, data, args.workspace, args.stream);
  if (lse) {
    spread_lse({data.lse, shape.batch, shape.q_heads, shape.q_len, row<float>(lse, first.q_begin),
                step.q * lse.stride[0], lse.stride[0], lse.stride[1]},
               args.stream);
  }
}

void launch_sdpa(const LaunchArgs& args) {
  const Problem& p = args.problem;
  const WorkspaceScope scope(args.workspace);
  const BandTensors tensors = aligned_tensors(args, Branch::win, false);
  SdpaShape shape;
  shape.device = device::current_ordinal();
  shape.dtype = p.dtype;
  shape.q_heads = p.q_heads;
  shape.kv_heads = p.kv_heads;
  shape.dk = p.head_dim_k;
  shape.dv = p.head_dim_v;
  for (std::span<const Sequence> rest = args.sequences; !rest.empty();) {
    const std::size_t count = rest[0].q_len == 0 ? 1 : alike(rest);
    if (rest[0].q_len > 0) launch_run(args, tensors, rest.first(count), shape);
    rest = rest.subspan(count);
  }
  give_back(tensors, args);
}

}  // namespace

extern constinit const LaunchFunction kSdpa = launch_sdpa;

}  // namespace nsa::vendor
