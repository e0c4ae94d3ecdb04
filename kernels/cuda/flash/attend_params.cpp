#include "cuda/flash/attend_params.hpp"

#include <cmath>
#include <numbers>

#include "cuda/flash/head_tensor.hpp"
#include "cuda/memory/alignment.hpp"

namespace nsa::cuda {
namespace {

template <class T>
HeadTensor<T> aligned_tensor(const TensorView& view) {
  return head_tensor<T>(view, rows_start_aligned(view));
}

/// q, k, v, o and the sizes: what every branch has.
template <class Tensors>
AttendParams common_params(const LaunchArgs& args, const Tensors& tensors) {
  const Problem& problem = args.problem;
  AttendParams params;
  params.q = aligned_tensor<const void>(tensors.q);
  params.k = aligned_tensor<const void>(tensors.kv.k);
  params.v = aligned_tensor<const void>(tensors.kv.v);
  params.o = aligned_tensor<void>(tensors.o);
  params.sequences = args.device_sequences;
  params.batch = problem.batch();
  params.tokens = problem.total_tokens();
  params.context_tokens = tensors.kv.k.shape[0];
  params.max_kv_len = problem.max_kv_len();
  params.kv_heads = static_cast<int>(problem.kv_heads);
  params.group = static_cast<int>(problem.heads_per_group());
  params.dk = static_cast<int>(problem.head_dim_k);
  params.dv = static_cast<int>(problem.head_dim_v);
  params.sel_count = static_cast<int>(problem.geometry.sel_count);
  params.sel_block = static_cast<int>(problem.geometry.sel_block);
  params.window = static_cast<int>(problem.geometry.window);
  params.cmp_block = static_cast<int>(problem.geometry.cmp_block);
  params.cmp_stride = static_cast<int>(problem.geometry.cmp_stride);
  params.scale_log2 =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(problem.head_dim_k)));
  if (tensors.lse) {
    params.lse = tensors.lse.template as<float>();
    params.lse_row_stride = tensors.lse.stride[0];
    params.lse_head_stride = tensors.lse.stride[1];
  }
  return params;
}

}  // namespace

AttendParams make_attend_params(const LaunchArgs& args, const SelectedTensors& tensors) {
  const TensorView &blocks = tensors.blocks, &ranges = tensors.ranges;
  AttendParams params = common_params(args, tensors);
  params.blocks = blocks.as<const std::int32_t>();
  params.blocks_row_stride = blocks.stride[0];
  params.blocks_head_stride = blocks.stride[1];
  params.blocks_id_stride = blocks.stride[2];
  params.ranges = ranges.as<const std::int32_t>();
  params.ranges_row_stride = ranges.stride[0];
  params.ranges_head_stride = ranges.stride[1];
  params.ranges_pair_stride = ranges.stride[2];
  return params;
}

AttendParams make_band_params(const LaunchArgs& args, const BandTensors& tensors) {
  return common_params(args, tensors);
}

}  // namespace nsa::cuda
