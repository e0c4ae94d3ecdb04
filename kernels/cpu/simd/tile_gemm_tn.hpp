// The register-tile product with a transposed left side: what gradients of keys and values are.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// c[i * ldc + j] += sum over k of a[k * lda + i] * b[k][j], for i < rows and j < cols.
/// b: [depth] pointers to rows. cols is a multiple of kPad. Accumulates in T, along depth in order.
void tile_gemm_tn(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a,
                  std::int64_t lda, const float* const* b, float* c, std::int64_t ldc);
void tile_gemm_tn(std::int64_t rows, std::int64_t cols, std::int64_t depth, const double* a,
                  std::int64_t lda, const double* const* b, double* c, std::int64_t ldc);

}  // namespace nsa::cpu
