#include "vendor/cudnn/gradients.hpp"

#include "cuda/backward/gradient.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void put_gradient_kernel(PackedGradient g) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t all = g.rows + g.unseen;
  const std::int64_t column = i % g.dim, head = i / g.dim % g.heads;
  const std::int64_t of_batch = i / g.dim / g.heads, b = of_batch / all;
  if (b >= g.batch) return;
  const std::int64_t row = of_batch - b * all, seen = row - g.unseen;
  const auto* from = static_cast<const T*>(g.from);
  const float value =
      seen < 0 ? 0.0f
               : cuda::to_float(from[((b * g.rows + seen) * g.heads + head) * g.dim + column]);
  cuda::put_gradient<T>(
      g.to, (g.first + b * g.step + row) * g.to.row_stride + head * g.to.head_stride + column,
      value);
}

__global__ void gather_lse_kernel(LseGather lse) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= lse.batch * lse.rows * lse.heads) return;
  const std::int64_t head = i % lse.heads, row = i / lse.heads % lse.rows,
                     b = i / lse.heads / lse.rows;
  lse.to[(b * lse.heads + head) * lse.rows + row] =
      lse.from[b * lse.sequence_stride + row * lse.row_stride + head * lse.head_stride];
}

}  // namespace

void put_gradient(const PackedGradient& g, Dtype dtype, CUstream_st* stream) {
  const std::int64_t numbers = g.batch * (g.rows + g.unseen) * g.heads * g.dim;
  cuda::with_storage_type(dtype, [&](auto zero) {
    cuda::launch(put_gradient_kernel<decltype(zero)>, (numbers + kThreads - 1) / kThreads, kThreads,
                 0, stream, g);
  });
}

void gather_lse(const LseGather& lse, CUstream_st* stream) {
  const std::int64_t numbers = lse.batch * lse.rows * lse.heads;
  cuda::launch(gather_lse_kernel, (numbers + kThreads - 1) / kThreads, kThreads, 0, stream, lse);
}

}  // namespace nsa::vendor
