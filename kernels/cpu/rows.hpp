// Queries in and outputs out: the first and the last step of every attention kernel.
#pragma once

#include <cstdint>

#include "cpu/compute.hpp"
#include "nsa/kernels/tensor.hpp"

namespace nsa::cpu {

/// q[row, first_head + i, :] times query_scale into out[i * dim], i < heads.
template <class T>
void load_queries(const TensorView& q, std::int64_t row, std::int64_t first_head,
                  std::int64_t heads, std::int64_t dim, T* out);

/// acc[0, dim) / sum into out[row, head, :] (acc is overwritten up to pad_up(dim)); zeros where the
/// sum is 0, which is an empty row. lse, where present, gets the row's log-sum-exp.
template <class T>
void store_output(const TensorView& out, const TensorView& lse, std::int64_t row, std::int64_t head,
                  std::int64_t dim, T* acc, const RowSums<T>& sums);

}  // namespace nsa::cpu
