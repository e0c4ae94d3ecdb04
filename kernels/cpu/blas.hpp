// Matrix products of the vendor's BLAS, always on the threads of nsa/kernels/parallel.hpp.
#pragma once

#include <cstdint>

namespace nsa {

/// Row-major C[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C, on the calling thread.
/// op transposes where asked; ld* are the row lengths of the matrices as stored. With beta 0, C is
/// not read.
void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
          float beta, float* c, std::int64_t ldc);
void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          double alpha, const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
          double beta, double* c, std::int64_t ldc);

/// The same, split over all threads by the longer side of C.
void parallel_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
                   std::int64_t ldb, float beta, float* c, std::int64_t ldc);
void parallel_gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, double alpha, const double* a, std::int64_t lda, const double* b,
                   std::int64_t ldb, double beta, double* c, std::int64_t ldc);

}  // namespace nsa
