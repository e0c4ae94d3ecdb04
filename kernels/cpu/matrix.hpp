// A tensor as a matrix of the type that BLAS computes in: borrowed where it is one, else converted.
#pragma once

#include <type_traits>

#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/kernels/tensor.hpp"
#include "nsa/kernels/workspace.hpp"

namespace nsa {

template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride;
};

template <class T>
bool is_matrix_of(const TensorView& tensor) {
  constexpr Dtype kDtype = std::is_same_v<T, double> ? Dtype::fp64 : Dtype::fp32;
  return tensor.dtype == kDtype && rows_are_flat(tensor);
}

/// Converts row `row` of a rank 2 or 3 tensor; its last dimension is contiguous.
template <class T>
void load_flat_row(const TensorView& tensor, std::int64_t row, T* out) {
  if (rows_are_flat(tensor)) return load_row(tensor, tensor.at(row), row_elements(tensor), out);
  for (std::int64_t head = 0; head < tensor.shape[1]; ++head) {
    load_row(tensor, tensor.at(row, head), tensor.shape[2], out + head * tensor.shape[2]);
  }
}

/// Rows [first, first + count) in the workspace, converted by all threads; no copy where none is
/// needed.
template <class T>
Matrix<T> matrix_rows(const TensorView& tensor, std::int64_t first, std::int64_t count,
                      Workspace& workspace) {
  if (is_matrix_of<T>(tensor)) {
    return {tensor.as<const T>() + tensor.at(first), tensor.stride[0]};
  }
  const std::int64_t width = row_elements(tensor);
  T* copy = workspace.take<T>(count * width).data();
  parallel_for(0, count, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) load_flat_row(tensor, first + r, copy + r * width);
  });
  return {copy, width};
}

}  // namespace nsa
