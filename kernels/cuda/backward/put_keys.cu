#include "cuda/backward/put_keys.hpp"

#include "cuda/backward/put_key.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    put_keys_kernel(const __grid_constant__ BackwardParams p, const float* sums, int width_k,
                    int width_v) {
  const int width = width_k + width_v;
  const std::int64_t at = (blockIdx.x * std::int64_t{kThreads} + threadIdx.x) * 4;
  const std::int64_t head_row = at / width, row = head_row / p.attend.kv_heads;
  if (row >= p.attend.context_tokens) return;
  put_key_piece<T>(p, row, static_cast<int>(head_row - row * p.attend.kv_heads),
                   static_cast<int>(at - head_row * width), width_k,
                   *reinterpret_cast<const float4*>(sums + at));
}

}  // namespace

void put_keys(const BackwardParams& p, const float* sums, int width_k, int width_v, Dtype dtype,
              CUstream_st* stream) {
  const std::int64_t pieces =
      p.attend.context_tokens * p.attend.kv_heads * (std::int64_t{width_k} + width_v) / 4;
  with_storage_type(dtype, [&](auto zero) {
    launch(put_keys_kernel<decltype(zero)>, (pieces + kThreads - 1) / kThreads, kThreads, 0, stream,
           p, sums, width_k, width_v);
  });
}

}  // namespace nsa::cuda
