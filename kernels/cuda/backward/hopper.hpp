// Which launches of the backward pass of attention run Hopper's kernels (tiles/*_sm90.cuh), and
// with which tiles.
#pragma once

#include <type_traits>

#include "cuda/backward/params.hpp"
#include "cuda/ptx/sm90_device.hpp"

namespace nsa::cuda {

/// Rows of a tile: those of a group have to fit into one.
inline constexpr int kHopperRows = 64;

/// Whether TMA can address the rows of a tensor of 16-bit numbers.
inline bool has_tma_strides(const HeadTensor<const void>& tensor) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 40) / 2;
  const auto fits = [](std::int64_t stride) { return stride > 0 && stride < kMost; };
  return fits(tensor.head_stride) && fits(tensor.row_stride);
}

/// Calls f(integral constant) with the head dims where Hopper's kernels take the launch: q, K and V
/// of 64 or 128 columns, all rows in pieces of 16 bytes, a group's heads in one tile. False where
/// they do not.
template <class F>
bool with_hopper_width(const BackwardParams& p, F f) {
  const AttendParams& a = p.attend;
  if (!on_hopper() || !p.d_o.vectors || a.tokens == 0 || a.context_tokens == 0) return false;
  if (a.group > kHopperRows) return false;
  for (const auto* tensor : {&a.q, &a.k, &a.v, &p.d_o})
    if (!has_tma_strides(*tensor)) return false;
  if (whole_vectors(a, 64, 64)) return f(std::integral_constant<int, 64>{}), true;
  if (whole_vectors(a, 128, 128)) return f(std::integral_constant<int, 128>{}), true;
  return false;
}

inline bool runs_on_hopper(const BackwardParams& p, Dtype dtype) {
  return dtype != Dtype::fp32 && with_hopper_width(p, [](auto) {});
}

}  // namespace nsa::cuda
