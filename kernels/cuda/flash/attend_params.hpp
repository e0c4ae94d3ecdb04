// What the attention kernels get: plain pointers, strides in elements, sizes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "operands/attend.hpp"

namespace nsa::cuda {

/// A tensor [rows, heads, dim] whose dim is contiguous.
template <class T>
struct HeadTensor {
  T* data = nullptr;
  std::int64_t row_stride = 0, head_stride = 0;
  bool vectors = false;  // every row starts at a multiple of 16 bytes
};

/// Of one launch; tensors are on the device.
struct AttendParams {
  HeadTensor<const void> q;              // [tokens, q_heads, dk]
  HeadTensor<const void> k;              // [context_tokens, kv_heads, dk]
  HeadTensor<const void> v;              // [context_tokens, kv_heads, dv]
  HeadTensor<void> o;                    // [tokens, q_heads, dv]
  const std::int32_t* ranges = nullptr;  // [tokens, kv_heads, sel_count, 2]
  std::int64_t ranges_row_stride = 0, ranges_head_stride = 0, ranges_pair_stride = 0;
  int ranges_share = 1;                  // heads of k and v that one head of ranges belongs to
  const std::int32_t* blocks = nullptr;  // [tokens, kv_heads, sel_count], -1 = unused
  std::int64_t blocks_row_stride = 0, blocks_head_stride = 0, blocks_id_stride = 0;
  float* lse = nullptr;  // [tokens, q_heads], natural logarithm; null = not wanted
  std::int64_t lse_row_stride = 0, lse_head_stride = 0;
  const Sequence* sequences = nullptr;  // [batch], on the device
  std::int64_t batch = 0, tokens = 0;
  int kv_heads = 0, group = 0;      // group: query heads per KV head
  std::int64_t context_tokens = 0;  // rows of k and v
  std::int64_t max_kv_len = 0;      // of the longest sequence
  int dk = 0, dv = 0, sel_count = 0, sel_block = 0;
  int window = 0, cmp_block = 0, cmp_stride = 0;
  float scale_log2 = 0;  // log2(e) / sqrt(dk): logits in units in which exp2 is the weight
};

/// From the tensors of an attend_selected launch.
AttendParams make_attend_params(const LaunchArgs& args, const SelectedTensors& tensors);
inline AttendParams make_attend_params(const LaunchArgs& args) {
  return make_attend_params(args, SelectedTensors::of(args));
}
/// From the tensors of a window or compressed launch.
AttendParams make_band_params(const LaunchArgs& args, const BandTensors& tensors);
/// True where head_dim_k and head_dim_v are `dk` and `dv`, and all rows can move in 16-byte pieces.
inline bool whole_vectors(const AttendParams& p, int dk, int dv) {
  return p.dk == dk && p.dv == dv && p.q.vectors && p.k.vectors && p.v.vectors && p.o.vectors;
}

/// Largest head_dim_k and head_dim_v that the kernels hold in shared memory and registers.
inline constexpr std::int64_t kMaxHeadDim = 256;
/// The least width that the kernels are compiled for and that holds head_dim_v.
constexpr int padded_dv(std::int64_t dv) { return static_cast<int>((dv + 63) / 64 * 64); }

/// Calls f(std::integral_constant<int, padded_dv(dv)>).
template <class F>
void with_padded_dv(int dv, F f) {
  expects(dv >= 1 && dv <= kMaxHeadDim, "head_dim_v of 256 or less");
  switch (padded_dv(dv)) {
    case 64:
      return f(std::integral_constant<int, 64>{});
    case 128:
      return f(std::integral_constant<int, 128>{});
    case 192:
      return f(std::integral_constant<int, 192>{});
    default:
      return f(std::integral_constant<int, 256>{});
  }
}

}  // namespace nsa::cuda
