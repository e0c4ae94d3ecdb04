// How a product is cut into tiles that fit the registers. Included once per instruction set (see
// Highway), so it has Highway's toggled guard instead of `#pragma once`.
#if defined(NSA_CPU_REGISTER_TILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NSA_CPU_REGISTER_TILES_INL
#undef NSA_CPU_REGISTER_TILES_INL
#else
#define NSA_CPU_REGISTER_TILES_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/simd/tile_gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {

// 6 x 4 accumulators fill the 32 registers of AVX-512 best, 6 x 2 the 16 of AVX2.
constexpr int kRows = 6;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

/// What `of(rows, vectors)` gives for every size of a tile, each number as a type.
template <class Of, int... kIndex>
constexpr auto tile_table(Of of, std::integer_sequence<int, kIndex...>) {
  return std::array{of(std::integral_constant<int, kIndex / kVectors + 1>(),
                       std::integral_constant<int, kIndex % kVectors + 1>())...};
}
template <class Of>
constexpr auto tile_table(Of of) {
  return tile_table(of, std::make_integer_sequence<int, kRows * kVectors>());
}

/// Calls f(place in the table, first row, first column) for the tiles of the product.
template <class T, class F>
void for_tiles(const ProductSize& size, const F& f) {
  const auto [rows, cols, depth] = size;
  const auto lanes =
      static_cast<std::int64_t>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<T>()));
  const std::int64_t blocks = (rows + kRows - 1) / kRows;
  for (std::int64_t column = 0; column < cols;) {
    const std::int64_t vectors = std::min<std::int64_t>(kVectors, (cols - column) / lanes);
    for (std::int64_t block = 0; block < blocks; ++block) {  // rows in nearly equal parts
      const std::int64_t from = rows * block / blocks;
      const std::int64_t count = rows * (block + 1) / blocks - from;
      f(static_cast<std::size_t>((count - 1) * kVectors + vectors - 1), from, column);
    }
    column += vectors * lanes;
  }
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
