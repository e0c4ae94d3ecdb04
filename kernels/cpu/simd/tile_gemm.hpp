// The register-tile product that all attention kernels of the CPU: few rows times a packed panel.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// Columns of packed panels come in multiples of this, so that any vector length divides them.
inline constexpr std::int64_t kPad = 16;

constexpr std::int64_t pad_up(std::int64_t n) noexcept { return (n + kPad - 1) / kPad * kPad; }

/// c[i][0, cols) = (accumulate ? c[i] : 0) + a[i][0, depth) * b[depth, cols], for each of `rows`.
/// a: [rows] pointers to rows; b: row-major with row length ldb; c: [rows] pointers to rows.
/// cols is a multiple of kPad. Accumulates in T, along depth in order.
void tile_gemm(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* const* a,
               const float* b, std::int64_t ldb, float* const* c, bool accumulate);
void tile_gemm(std::int64_t rows, std::int64_t cols, std::int64_t depth, const double* const* a,
               const double* b, std::int64_t ldb, double* const* c, bool accumulate);

/// The same for rows at equal distances lda and ldc.
void tile_gemm(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a,
               std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
               bool accumulate);
void tile_gemm(std::int64_t rows, std::int64_t cols, std::int64_t depth, const double* a,
               std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc,
               bool accumulate);

}  // namespace nsa::cpu
