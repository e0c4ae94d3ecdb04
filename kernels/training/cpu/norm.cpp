#include <cmath>

#include "training/cpu/ops.hpp"
#include "training/cpu/rows.hpp"

namespace nsa::training::cpu {
namespace {

constexpr double kNormEpsilon = 1e-6;  // of model_ops.cpp
/// Rows whose share of the weight's gradient is added up on its own, whatever the threads.
constexpr std::int64_t kRowsPerSum = 64;

/// One row; `x` and `d_y` are overwritten: by the row's share of d_weight and by d_x.
template <class T>
void one_row(const T* weight, std::int64_t columns, T* x, T* d_y) {
  T squares = 0, along = 0;
  for (std::int64_t i = 0; i < columns; ++i) squares += x[i] * x[i];
  for (std::int64_t i = 0; i < columns; ++i) along += d_y[i] * weight[i] * x[i];
  const T inverse = T(1) / std::sqrt(squares / static_cast<T>(columns) + T(kNormEpsilon));
  const T back = inverse * inverse * along / static_cast<T>(columns);
  for (std::int64_t i = 0; i < columns; ++i) {
    const T share = d_y[i] * x[i] * inverse;
    d_y[i] = inverse * (weight[i] * d_y[i] - x[i] * back);
    x[i] = share;
  }
}

template <class T>
void backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
              const Gradient& d_x, const Gradient& d_weight, Workspace& workspace) {
  const WorkspaceScope scope(workspace);
  const std::int64_t rows = x.shape[0], columns = x.shape[1];
  const std::int64_t pieces = (rows + kRowsPerSum - 1) / kRowsPerSum;
  T* sums = workspace.take<T>(pieces * columns).data();
  std::vector<T> scale(static_cast<std::size_t>(columns));
  load_row(weight, 0, columns, scale.data());
  parallel_for(0, pieces, 1, [&](std::int64_t from, std::int64_t to) {
    std::vector<T> a(scale.size()), b(scale.size()), old(scale.size());
    for (std::int64_t piece = from; piece < to; ++piece) {
      T* sum = sums + piece * columns;
      std::fill_n(sum, columns, T{0});
      const std::int64_t end = std::min(rows, (piece + 1) * kRowsPerSum);
      for (std::int64_t r = piece * kRowsPerSum; r < end; ++r) {
        load_row(x, x.at(r), columns, a.data());
        load_row(d_y, d_y.at(r), columns, b.data());
        one_row(scale.data(), columns, a.data(), b.data());
        for (std::int64_t i = 0; i < columns; ++i) sum[i] += a[static_cast<std::size_t>(i)];
        write(d_x, d_x.to.at(r), columns, b.data(), old.data());
      }
    }
  });
  std::vector<T> total(scale.size(), T{0}), old(scale.size());
  for (std::int64_t piece = 0; piece < pieces; ++piece)
    for (std::int64_t i = 0; i < columns; ++i)
      total[static_cast<std::size_t>(i)] += sums[piece * columns + i];
  write(d_weight, 0, columns, total.data(), old.data());
}

}  // namespace

void add(const TensorView& x, const TensorView& delta, const TensorView& sum) {
  with_accumulator(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = x.shape[1];
    for_rows<T>(x.shape[0], 2 * columns, [&](std::int64_t r, T* v) {
      load_row(x, x.at(r), columns, v);
      load_row(delta, delta.at(r), columns, v + columns);
      for (std::int64_t i = 0; i < columns; ++i) v[i] += v[columns + i];
      store_row(sum, sum.at(r), columns, v);
    });
  });
}

void rms_norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                       const Gradient& d_x, const Gradient& d_weight, Workspace& workspace) {
  with_accumulator(x.dtype, [&](auto zero) {
    backward<decltype(zero)>(x, weight, d_y, d_x, d_weight, workspace);
  });
}

}  // namespace nsa::training::cpu
