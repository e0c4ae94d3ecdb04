// What the backward pass needs of each row of queries: its log-sum-exp, and the sum of d_o o, which
// is the mean of the weights' gradients. A warp, or a part of one, per row.
#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"

namespace nsa::cuda {
namespace {

constexpr int kWarps = 8;

/// kLanes threads a row, each with pieces of kWidth numbers.
template <class T, int kWidth, int kLanes>
__global__ void __launch_bounds__(32 * kWarps) row_stats_kernel(BackwardParams p) {
  const AttendParams& a = p.attend;
  const std::int64_t heads = std::int64_t{a.kv_heads} * a.group;
  const std::int64_t row =
      (blockIdx.x * std::int64_t{32 * kWarps} + threadIdx.x) / std::int64_t{kLanes};
  const bool exists = row < a.tokens * heads;  // the others of a warp are not left alone
  const std::int64_t token = row / heads, head = row - token * heads;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  float sum = 0;
  if (exists) {
    const T* o = head_row<const T>(a.o, token, head);
    const T* d_o = head_row<const T>(p.d_o, token, head);
    for (int column = lane * kWidth; column < a.dv; column += kLanes * kWidth) {
      float x[kWidth], y[kWidth];
      load_vector(o + column, x);
      load_vector(d_o + column, y);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum = fmaf(x[i], y[i], sum);
    }
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (!exists || lane != 0) return;
  const float lse = a.lse[token * a.lse_row_stride + head * a.lse_head_stride];
  reinterpret_cast<float2*>(p.stats)[row] = make_float2(log2_sum_exp(lse), sum);
}

/// In the order in which the fp32 tiles make the products of d_o with values (dot_rows of
/// simt.cuh): of a row with one key, whose logit has no gradient, nothing is left.
__global__ void __launch_bounds__(32 * kWarps) row_stats_fp32_kernel(BackwardParams p) {
  const AttendParams& a = p.attend;
  const std::int64_t heads = std::int64_t{a.kv_heads} * a.group;
  const std::int64_t row = blockIdx.x * std::int64_t{32 * kWarps} + threadIdx.x;
  if (row >= a.tokens * heads) return;
  const std::int64_t token = row / heads, head = row - token * heads;
  const auto* o = head_row<const float>(a.o, token, head);
  const auto* d_o = head_row<const float>(p.d_o, token, head);
  float sum = 0;
  for (int d = 0; d < a.dv; d += 4) {
    for (int i = min(a.dv - d, 4) - 1; i >= 0; --i) sum = fmaf(d_o[d + i], o[d + i], sum);
  }
  const float lse = a.lse[token * a.lse_row_stride + head * a.lse_head_stride];
  reinterpret_cast<float2*>(p.stats)[row] = make_float2(log2_sum_exp(lse), sum);
}

template <class T>
void launch_row_stats(const BackwardParams& p, std::int64_t rows, CUstream_st* stream) {
  if constexpr (sizeof(T) == 4) {
    launch(row_stats_fp32_kernel, (rows + 32 * kWarps - 1) / (32 * kWarps), 32 * kWarps, 0, stream,
           p);
  } else {
    constexpr int kWidth = kVectorOf<T>;
    const int dv = p.attend.dv;
    const bool wide = p.attend.o.vectors && p.d_o.vectors && dv % kWidth == 0;
    const int lanes = wide && dv <= 8 * kWidth ? 8 : wide && dv <= 16 * kWidth ? 16 : 32;
    const std::int64_t blocks = (rows * lanes + 32 * kWarps - 1) / (32 * kWarps);
    const auto kernel = !wide         ? row_stats_kernel<T, 1, 32>
                        : lanes == 8  ? row_stats_kernel<T, kWidth, 8>
                        : lanes == 16 ? row_stats_kernel<T, kWidth, 16>
                                      : row_stats_kernel<T, kWidth, 32>;
    launch(kernel, blocks, 32 * kWarps, 0, stream, p);
  }
}

}  // namespace

void make_row_stats(const BackwardParams& p, Dtype dtype, CUstream_st* stream) {
  if (p.stats_given) return;
  const AttendParams& a = p.attend;
  const std::int64_t rows = a.tokens * a.kv_heads * a.group;
  with_storage_type(dtype, [&](auto zero) { launch_row_stats<decltype(zero)>(p, rows, stream); });
}

}  // namespace nsa::cuda
