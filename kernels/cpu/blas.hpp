// Matrix products of the vendor's BLAS, always on the threads of nsa/kernels/parallel.hpp.
#pragma once

#include <cstdint>

namespace nsa {

/// A matrix that somebody else owns, stored row by row. Where `transposed`, what is stored is its
/// transpose.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t rows, columns;  // of the matrix, transposed or not
  std::int64_t stride;         // elements from one stored row to the next
  bool transposed = false;

  MatrixView transpose() const { return {data, columns, rows, stride, !transposed}; }
  /// Rows, or columns, [first, first + count).
  MatrixView row_range(std::int64_t first, std::int64_t count) const {
    return {data + first * (transposed ? 1 : stride), count, columns, stride, transposed};
  }
  MatrixView column_range(std::int64_t first, std::int64_t count) const {
    return {data + first * (transposed ? stride : 1), rows, count, stride, transposed};
  }
};

/// c = a b on the calling thread: a [m, k], b [k, n], c [m, n] not transposed and not read.
void gemm(const MatrixView<const float>& a, const MatrixView<const float>& b,
          const MatrixView<float>& c);
void gemm(const MatrixView<const double>& a, const MatrixView<const double>& b,
          const MatrixView<double>& c);

/// The same, split over all threads by the longer side of c.
void parallel_gemm(const MatrixView<const float>& a, const MatrixView<const float>& b,
                   const MatrixView<float>& c);
void parallel_gemm(const MatrixView<const double>& a, const MatrixView<const double>& b,
                   const MatrixView<double>& c);

}  // namespace nsa
