#include "cpu/blas.hpp"

#include <cblas.h>

#include <algorithm>

#include "nsa/kernels/parallel.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

/// OpenBLAS has threads of its own; two layers of threads would fight for the same cores.
void use_one_blas_thread() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)done;
}

template <class T>
CBLAS_TRANSPOSE flag(const MatrixView<T>& matrix) {
  return matrix.transposed ? CblasTrans : CblasNoTrans;
}
blasint narrow(std::int64_t value) { return static_cast<blasint>(value); }

template <class T>
void check(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) {
  expects(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns && !c.transposed,
          "a [m, k], b [k, n] and c [m, n] in a product");
}

/// Rows or columns of a piece. OpenBLAS rounds differently at the edges of what it is given, so a
/// piece depends on the shape alone, not on how many threads there are. Smaller ones waste their
/// packing.
std::int64_t piece_of(std::int64_t side) {
  if (side <= 128) return 64;
  return side <= 2048 ? 128 : 256;
}

template <class T>
void split_gemm(const MatrixView<const T>& a, const MatrixView<const T>& b,
                const MatrixView<T>& c) {
  const bool by_rows = c.rows >= c.columns;
  const std::int64_t side = by_rows ? c.rows : c.columns;
  const std::int64_t piece = piece_of(side);
  const auto multiply = [&](std::int64_t from) {
    const std::int64_t count = std::min(piece, side - from);
    if (by_rows) {
      gemm(a.row_range(from, count), b, c.row_range(from, count));
    } else {
      gemm(a, b.column_range(from, count), c.column_range(from, count));
    }
  };
  parallel_for(0, (side + piece - 1) / piece, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) multiply(i * piece);
  });
}

}  // namespace

void gemm(const MatrixView<const float>& a, const MatrixView<const float>& b,
          const MatrixView<float>& c) {
  use_one_blas_thread();
  check(a, b, c);
  cblas_sgemm(CblasRowMajor, flag(a), flag(b), narrow(c.rows), narrow(c.columns), narrow(a.columns),
              1.0f, a.data, narrow(a.stride), b.data, narrow(b.stride), 0.0f, c.data,
              narrow(c.stride));
}

void gemm(const MatrixView<const double>& a, const MatrixView<const double>& b,
          const MatrixView<double>& c) {
  use_one_blas_thread();
  check(a, b, c);
  cblas_dgemm(CblasRowMajor, flag(a), flag(b), narrow(c.rows), narrow(c.columns), narrow(a.columns),
              1.0, a.data, narrow(a.stride), b.data, narrow(b.stride), 0.0, c.data,
              narrow(c.stride));
}

void parallel_gemm(const MatrixView<const float>& a, const MatrixView<const float>& b,
                   const MatrixView<float>& c) {
  split_gemm(a, b, c);
}

void parallel_gemm(const MatrixView<const double>& a, const MatrixView<const double>& b,
                   const MatrixView<double>& c) {
  split_gemm(a, b, c);
}

}  // namespace nsa
