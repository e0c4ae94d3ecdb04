// y = x W^T for a few rows of x: a warp per row of W, which it reads once, 16 bytes a lane, with
// all loads of a pass under way together. cuBLASLt's kernels for one row leave most of the chip
// idle.
#include "cuda/gemm/gemv.hpp"
#include "cuda/launch/programmatic_launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr std::int64_t kMostRows = 8;
constexpr int kDeep = 4;  // vectors of W that a lane has under way

struct GemvParams {
  const void *x, *w;
  void* y;
  std::int64_t x_stride, w_stride, y_stride;
  int rows, in, out;
};

template <class In, class Out, int kRows>
__global__ void __launch_bounds__(kThreads) gemv_kernel(GemvParams p) {
  constexpr int kWidth = kVectorOf<In>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  griddep_wait();
  if (column >= p.out) return;
  const In* w = static_cast<const In*>(p.w) + column * p.w_stride;
  float sums[kRows] = {};
  for (int begin = lane * kWidth; begin < p.in; begin += 32 * kWidth * kDeep) {
    BitsOf<In, kWidth> bits[kDeep];
#pragma unroll
    for (int u = 0; u < kDeep; ++u) {
      const int i = begin + u * 32 * kWidth;
      if (i < p.in) bits[u] = *reinterpret_cast<const BitsOf<In, kWidth>*>(w + i);
    }
#pragma unroll
    for (int u = 0; u < kDeep; ++u) {
      const int i = begin + u * 32 * kWidth;
      if (i >= p.in) continue;
      float weight[kWidth];
      unpack<In, kWidth>(bits[u], weight);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= p.rows) continue;
        float x[kWidth];
        load_vector(static_cast<const In*>(p.x) + r * p.x_stride + i, x);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sums[r] = fmaf(weight[j], x[j], sums[r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], step);
    if (lane == 0 && r < p.rows)
      static_cast<Out*>(p.y)[r * p.y_stride + column] = from_float<Out>(sums[r]);
  }
}

template <class In, class Out>
void launch_gemv(const GemvParams& p, CUstream_st* stream) {
  const std::int64_t blocks = (p.out + kWarps - 1) / kWarps;
  if (p.rows == 1) {
    launch_pdl_if_hopper(gemv_kernel<In, Out, 1>, blocks, kThreads, 0, stream, p);
  } else {
    launch_pdl_if_hopper(gemv_kernel<In, Out, kMostRows>, blocks, kThreads, 0, stream, p);
  }
}

}  // namespace

bool gemv_takes(const TensorView& x, const TensorView& w, const TensorView& y) {
  if (x.rank != 2 || w.rank != 2 || y.rank != 2 || x.dtype != w.dtype) return false;
  if (w.shape[1] != x.shape[1] || y.shape[0] != x.shape[0] || y.shape[1] != w.shape[0])
    return false;
  return y.elements() > 0 && x.shape[0] <= kMostRows && rows_are_vectors(x) &&
         rows_are_vectors(w) && y.rows_contiguous();
}

void gemv(const TensorView& x, const TensorView& w, const TensorView& y, CUstream_st* stream) {
  const GemvParams p{.x = x.data,
                     .w = w.data,
                     .y = y.data,
                     .x_stride = x.stride[0],
                     .w_stride = w.stride[0],
                     .y_stride = y.stride[0],
                     .rows = static_cast<int>(x.shape[0]),
                     .in = static_cast<int>(x.shape[1]),
                     .out = static_cast<int>(w.shape[0])};
  with_storage_type(x.dtype, [&](auto zero) {
    using In = decltype(zero);
    if (y.dtype == Dtype::fp32) return launch_gemv<In, float>(p, stream);
    launch_gemv<In, In>(p, stream);
  });
}

}  // namespace nsa::cuda
