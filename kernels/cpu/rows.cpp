#include "cpu/rows.hpp"

#include "cpu/convert.hpp"
#include "cpu/simd/tile_gemm.hpp"

namespace nsa::cpu {

template <class T>
void load_queries(const TensorView& q, std::int64_t row, std::int64_t first_head,
                  std::int64_t heads, std::int64_t dim, T* out) {
  const T scale = static_cast<T>(query_scale(dim));
  for (std::int64_t i = 0; i < heads; ++i) {
    load_row(q, q.at(row, first_head + i), dim, out + i * dim);
  }
  for (std::int64_t i = 0; i < heads * dim; ++i) out[i] *= scale;
}

template <class T>
void store_output(const TensorView& out, const TensorView& lse, std::int64_t row, std::int64_t head,
                  std::int64_t dim, T* acc, const RowSums<T>& sums) {
  const bool empty = sums.sum == T{0};
  if (empty) {
    for (std::int64_t i = 0; i < dim; ++i) acc[i] = T{0};
  } else {
    scale_row(acc, pad_up(dim), T{1} / sums.sum);
  }
  store_row(out, out.at(row, head), dim, acc);
  if (lse) lse.as<float>()[lse.at(row, head)] = lse_of(sums);
}

template void load_queries(const TensorView&, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, float*);
template void load_queries(const TensorView&, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, double*);
template void store_output(const TensorView&, const TensorView&, std::int64_t, std::int64_t,
                           std::int64_t, float*, const RowSums<float>&);
template void store_output(const TensorView&, const TensorView&, std::int64_t, std::int64_t,
                           std::int64_t, double*, const RowSums<double>&);

}  // namespace nsa::cpu
