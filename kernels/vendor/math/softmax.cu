#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"
#include "vendor/math/softmax.hpp"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 256;

struct Seen {
  int begin, end;  // of the tile's keys
};

/// Window: the last w tokens, t included (docs/nsa.md 7). Compressed key c covers tokens
/// [c d, c d + l) and is seen from its last token on (docs/nsa.md 3).
__device__ Seen seen_keys(const LogitTile& tile, int row) {
  const std::int64_t t = tile.first_position + row;
  std::int64_t begin = 0, end = t + 1;
  if (tile.band == Band::window) {
    begin = max(t - tile.window + 1, std::int64_t{0});
  } else {
    end = t + 1 < tile.cmp_block ? 0 : (t + 1 - tile.cmp_block) / tile.cmp_stride + 1;
  }
  const std::int64_t keys = tile.keys;
  return {static_cast<int>(min(max(begin - tile.first_key, std::int64_t{0}), keys)),
          static_cast<int>(min(max(end - tile.first_key, std::int64_t{0}), keys))};
}

/// The block's largest number, or its sum, in every thread.
template <class Combine>
__device__ float of_block(float x, Combine combine) {
  __shared__ float of_warp[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(~0u, x, step));
  __syncthreads();  // the last call's numbers have been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warp[0];
  for (int w = 1; w < kThreads / 32; ++w) x = combine(x, of_warp[w]);
  return x;
}

/// One block per row. A weight is narrower than a logit, so chunk by chunk nothing is overwritten
/// that was not read.
template <class T>
__global__ void __launch_bounds__(kThreads) softmax_kernel(LogitTile tile) {
  const int row = static_cast<int>(blockIdx.x) % tile.rows;
  const int head = static_cast<int>(blockIdx.x) / tile.rows;
  float* logits = tile.data + head * tile.head_stride + row * tile.row_stride;
  T* weights = reinterpret_cast<T*>(logits);
  const Seen seen = seen_keys(tile, row);
  const int thread = static_cast<int>(threadIdx.x);
  float row_max = -INFINITY;
  for (int i = seen.begin + thread; i < seen.end; i += kThreads) row_max = max(row_max, logits[i]);
  row_max = of_block(row_max, [](float a, float b) { return max(a, b); });
  float sum = 0;
  for (int i = seen.begin + thread; i < seen.end; i += kThreads) sum += expf(logits[i] - row_max);
  sum = of_block(sum, [](float a, float b) { return a + b; });
  const float share = seen.begin < seen.end ? 1 / sum : 0;
  for (int first = 0; first < tile.keys; first += kThreads) {
    const int i = first + thread;
    const bool visible = i >= seen.begin && i < seen.end;
    const float weight = visible ? expf(logits[i] - row_max) * share : 0;
    __syncthreads();
    if (i < tile.keys) weights[i] = cuda::from_float<T>(weight);
  }
  if (thread == 0 && tile.lse) {
    tile.lse[row * tile.lse_row_stride + head * tile.lse_head_stride] =
        seen.begin < seen.end ? row_max + logf(sum) : -INFINITY;
  }
}

template <class T>
__global__ void zero_kernel(T* data, std::int64_t head_stride, std::int64_t row_stride,
                            std::int64_t rows, std::int64_t dim, std::int64_t elements) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= elements) return;
  const std::int64_t row = i / dim;
  data[row / rows * head_stride + row % rows * row_stride + i % dim] = cuda::from_float<T>(0);
}

}  // namespace

void zero_rows(const TensorView& batch, CUstream_st* stream) {
  const std::int64_t elements = batch.elements();
  cuda::with_storage_type(batch.dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::launch(zero_kernel<T>, (elements + kThreads - 1) / kThreads, kThreads, 0, stream,
                 batch.as<T>(), batch.stride[0], batch.stride[1], batch.shape[1], batch.shape[2],
                 elements);
  });
}

void softmax_in_place(const LogitTile& tile, Dtype dtype, CUstream_st* stream) {
  cuda::with_storage_type(dtype, [&](auto zero) {
    cuda::launch(softmax_kernel<decltype(zero)>, std::int64_t{tile.heads} * tile.rows, kThreads, 0,
                 stream, tile);
  });
}

}  // namespace nsa::vendor
