#include "vendor/cudnn/lse.hpp"

#include "cuda/launch/launch.cuh"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 256;

/// Neighbouring threads take neighbouring heads: the writes are the ones that lie together.
__global__ void spread_kernel(LseSpread s) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= s.batch * s.rows * s.heads) return;
  const std::int64_t head = i % s.heads, row = i / s.heads % s.rows, b = i / s.heads / s.rows;
  s.to[b * s.sequence_stride + row * s.row_stride + head * s.head_stride] =
      s.from[(b * s.heads + head) * s.rows + row];
}

}  // namespace

void spread_lse(const LseSpread& spread, CUstream_st* stream) {
  const std::int64_t numbers = spread.batch * spread.rows * spread.heads;
  cuda::launch(spread_kernel, (numbers + kThreads - 1) / kThreads, kThreads, 0, stream, spread);
}

}  // namespace nsa::vendor
