#include "cuda/attend_params.hpp"

#include <cmath>
#include <numbers>

#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

/// 16-byte loads need rows that start at multiples of 16 bytes; where they do not, the kernels load
/// element by element.
bool rows_aligned(const TensorView& view) {
  const auto element = static_cast<std::int64_t>(size_of(view.dtype));
  return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 &&
         view.stride[0] * element % 16 == 0 && view.stride[1] * element % 16 == 0;
}

template <class T>
HeadTensor<T> head_tensor(const TensorView& view) {
  expects(view.rank == 3 && view.rows_contiguous(), "a tensor [rows, heads, dim], dim contiguous");
  return {view.data, view.stride[0], view.stride[1], rows_aligned(view)};
}

}  // namespace

AttendParams make_attend_params(const LaunchArgs& args) {
  expects(args.in.size() == 5 && args.out.size() == 1,
          "q, k, v, blocks and ranges, and one output");
  const Problem& problem = args.problem;
  const TensorView& ranges = args.in[4];
  AttendParams params;
  params.q = head_tensor<const void>(args.in[0]);
  params.k = head_tensor<const void>(args.in[1]);
  params.v = head_tensor<const void>(args.in[2]);
  params.o = head_tensor<void>(args.out[0]);
  params.ranges = ranges.as<const std::int32_t>();
  params.ranges_row_stride = ranges.stride[0];
  params.ranges_head_stride = ranges.stride[1];
  params.ranges_pair_stride = ranges.stride[2];
  if (args.saved && args.saved->lse_sel) {
    params.lse = args.saved->lse_sel.as<float>();
    params.lse_row_stride = args.saved->lse_sel.stride[0];
    params.lse_head_stride = args.saved->lse_sel.stride[1];
  }
  params.sequences = args.device_sequences;
  params.batch = problem.batch();
  params.tokens = problem.total_tokens();
  params.kv_heads = static_cast<int>(problem.kv_heads);
  params.group = static_cast<int>(problem.heads_per_group());
  params.dk = static_cast<int>(problem.head_dim_k);
  params.dv = static_cast<int>(problem.head_dim_v);
  params.sel_count = static_cast<int>(problem.geometry.sel_count);
  params.scale_log2 =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(problem.head_dim_k)));
  return params;
}

}  // namespace nsa::cuda
