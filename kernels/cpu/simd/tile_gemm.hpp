// The register-tile product that all attention kernels of the CPU: few rows times a packed panel.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// Columns of packed panels come in multiples of this, so that any vector length divides them.
inline constexpr std::int64_t kPad = 16;

constexpr std::int64_t pad_up(std::int64_t n) noexcept { return (n + kPad - 1) / kPad * kPad; }

/// Of a product c = a b: c is [rows, cols], and each of its numbers is a sum of `depth` terms.
struct ProductSize {
  std::int64_t rows, cols, depth;
};

/// A matrix whose row i begins at data + i * stride.
template <class T>
struct Strided {
  T* data;
  std::int64_t stride;
};

/// What becomes of the numbers that c holds.
enum class Store : bool { overwrite, add };

/// c = a b, or c += a b. a and c: [rows] pointers to rows. cols is a multiple of kPad. Accumulates
/// in T, along depth in order.
void tile_gemm(const ProductSize& size, const float* const* a, Strided<const float> b,
               float* const* c, Store store);
void tile_gemm(const ProductSize& size, const double* const* a, Strided<const double> b,
               double* const* c, Store store);

/// The same for rows at equal distances.
void tile_gemm(const ProductSize& size, Strided<const float> a, Strided<const float> b,
               Strided<float> c, Store store);
void tile_gemm(const ProductSize& size, Strided<const double> a, Strided<const double> b,
               Strided<double> c, Store store);

}  // namespace nsa::cpu
