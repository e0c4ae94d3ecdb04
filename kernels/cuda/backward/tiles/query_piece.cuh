// Where a thread of the tensor-core kernels puts what it holds of a row's gradient of q.
#pragma once

#include "cuda/backward/key_params.hpp"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

/// Adds two neighbouring numbers with one operation where the device has it.
__device__ inline void atomic_add_pair(float* to, float first, float second) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};\n" ::"l"(to), "f"(first), "f"(second)
               : "memory");
#else
  atomicAdd(to, first);
  atomicAdd(to + 1, second);
#endif
}

/// 32 columns of one row from the number `at` on: own[4 n + e] is column 8 n + 2 (lane % 4) + e,
/// for n below 4 and e below 2.
template <class T>
__device__ __forceinline__ void put_query_piece(const KeyOutputs& out, std::int64_t at,
                                                const float* own, float scale) {
  const auto lane = static_cast<int>(threadIdx.x) % 32;
  if (out.query == QueryGradient::atomic) {
#pragma unroll
    for (int n = 0; n < 4; ++n)
      atomic_add_pair(out.d_q_sum + at + 8 * n + lane % 4 * 2, own[4 * n] * scale,
                      own[4 * n + 1] * scale);
    return;
  }
  uint4 piece;
  piece.x = pack_pair<T>(own[0] * scale, own[1] * scale);
  piece.y = pack_pair<T>(own[4] * scale, own[5] * scale);
  piece.z = pack_pair<T>(own[8] * scale, own[9] * scale);
  piece.w = pack_pair<T>(own[12] * scale, own[13] * scale);
  __stcs(reinterpret_cast<uint4*>(static_cast<T*>(out.partial) + at) + lane % 4, piece);
}

}  // namespace nsa::cuda
