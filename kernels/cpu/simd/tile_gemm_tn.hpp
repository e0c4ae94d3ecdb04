// The register-tile product with a transposed left side: what gradients of keys and values are.
#pragma once

#include "cpu/simd/tile_gemm.hpp"

namespace nsa::cpu {

/// c += a^T b, with a [depth, rows] and b [depth] pointers to rows. cols is a multiple of kPad.
/// Accumulates in T, along depth in order.
void tile_gemm_tn(const ProductSize& size, Strided<const float> a, const float* const* b,
                  Strided<float> c);
void tile_gemm_tn(const ProductSize& size, Strided<const double> a, const double* const* b,
                  Strided<double> c);

}  // namespace nsa::cpu
