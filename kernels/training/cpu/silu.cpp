#include <cmath>

#include "training/cpu/ops.hpp"
#include "training/cpu/rows.hpp"

namespace nsa::training::cpu {

void silu(const TensorView& h, const TensorView& y) {
  with_accumulator(h.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = h.shape[1];
    for_rows<T>(h.shape[0], columns, [&](std::int64_t r, T* v) {
      load_row(h, h.at(r), columns, v);
      for (std::int64_t i = 0; i < columns; ++i) v[i] = v[i] / (T(1) + std::exp(-v[i]));
      store_row(y, y.at(r), columns, v);
    });
  });
}

void silu_backward(const TensorView& h, const TensorView& y, const TensorView& d) {
  with_accumulator(h.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = h.shape[1];
    for_rows<T>(h.shape[0], 2 * columns, [&](std::int64_t r, T* v) {
      T* gradient = v + columns;
      load_row(h, h.at(r), columns, v);
      load_row(d, d.at(r), columns, gradient);
      for (std::int64_t i = 0; i < columns; ++i) {
        const T e = T(1) + std::exp(-v[i]), sigmoid = T(1) / e;
        gradient[i] *= sigmoid * (T(1) + v[i] * (T(1) - sigmoid));
        v[i] /= e;
      }
      store_row(y, y.at(r), columns, v);
      store_row(d, d.at(r), columns, gradient);
    });
  });
}

}  // namespace nsa::training::cpu
