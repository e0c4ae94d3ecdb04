#include "cpu/blas.hpp"

#include <cblas.h>

#include <algorithm>

#include "nsa/kernels/parallel.hpp"

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

CBLAS_TRANSPOSE flag(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }
blasint narrow(std::int64_t value) { return static_cast<blasint>(value); }

template <class T>
void split_gemm(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                std::int64_t ldc) {
  constexpr std::int64_t kLeast = 32;  // rows or columns below which a piece wastes its packing
  const bool by_rows = m >= n;
  const std::int64_t side = by_rows ? m : n;
  const std::int64_t piece = (side + parallel_threads() - 1) / parallel_threads();
  parallel_for(0, side, std::max(kLeast, piece), [&](std::int64_t from, std::int64_t to) {
    if (by_rows) {
      const T* rows = a + from * (ta ? 1 : lda);
      gemm(ta, tb, to - from, n, k, alpha, rows, lda, b, ldb, beta, c + from * ldc, ldc);
    } else {
      const T* columns = b + from * (tb ? ldb : 1);
      gemm(ta, tb, m, to - from, k, alpha, a, lda, columns, ldb, beta, c + from, ldc);
    }
  });
}

}  // namespace

void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
          float beta, float* c, std::int64_t ldc) {
  use_one_blas_thread();
  cblas_sgemm(CblasRowMajor, flag(transpose_a), flag(transpose_b), narrow(m), narrow(n), narrow(k),
              alpha, a, narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          double alpha, const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
          double beta, double* c, std::int64_t ldc) {
  use_one_blas_thread();
  cblas_dgemm(CblasRowMajor, flag(transpose_a), flag(transpose_b), narrow(m), narrow(n), narrow(k),
              alpha, a, narrow(lda), b, narrow(ldb), beta, c, narrow(ldc));
}

void parallel_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
                   std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  split_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void parallel_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, double alpha, const double* a, std::int64_t lda, const double* b,
                   std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  split_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace nsa
