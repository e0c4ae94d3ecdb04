// Writes of the gradients of K and V from sums [.., width of K + width of V].
#pragma once

#include "cuda/backward/gradient.cuh"

namespace nsa::cuda {

/// Columns [column, column + 4) of the sums of a key; those of K are not scaled yet.
template <class T>
__device__ void put_key_piece(const BackwardParams& p, std::int64_t row, int kv_head, int column,
                              int width_k, const float4& sum) {
  const bool of_k = column < width_k;
  const GradientTensor& to = of_k ? p.d_k : p.d_v;
  if (!to.data) return;
  const int dim = of_k ? p.attend.dk : p.attend.dv, first = of_k ? column : column - width_k;
  const float factor = of_k ? p.scale : 1.0f;
  put_gradient_pair<T>(to, row, kv_head, first, dim, sum.x * factor, sum.y * factor);
  put_gradient_pair<T>(to, row, kv_head, first + 2, dim, sum.z * factor, sum.w * factor);
}

}  // namespace nsa::cuda
