#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/tile_gemm.cpp"
#include "cpu/simd/tile_gemm.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "cpu/simd/register_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int kMr, int kNv, class T>
void micro(std::int64_t depth, const T* const* a, const T* b, std::int64_t ldb, T* const* c,
           std::int64_t column, bool accumulate) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* rows[kMr];
  hn::Vec<decltype(d)> sum[kMr][kNv];
#pragma GCC unroll 8
  for (int i = 0; i < kMr; ++i) {
    rows[i] = a[i];
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) {
      sum[i][j] = accumulate ? hn::LoadU(d, c[i] + column + j * lanes) : hn::Zero(d);
    }
  }
  const T* panel = b + column;
  for (std::int64_t k = 0; k < depth; ++k, panel += ldb) {
    hn::Vec<decltype(d)> right[kNv];
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) right[j] = hn::LoadU(d, panel + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < kMr; ++i) {
      const auto left = hn::Set(d, rows[i][k]);
#pragma GCC unroll 4
      for (int j = 0; j < kNv; ++j) sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) hn::StoreU(sum[i][j], d, c[i] + column + j * lanes);
  }
}

template <class T>
void gemm_rows(const ProductSize& size, const T* const* a, Strided<const T> b, T* const* c,
               Store store) {
  static constexpr auto kMicro =
      tile_table([](auto rows, auto vectors) { return micro<rows(), vectors(), T>; });
  for_tiles<T>(size, [&](std::size_t tile, std::int64_t row, std::int64_t column) {
    kMicro[tile](size.depth, a + row, b.data, b.stride, c + row, column, store == Store::add);
  });
}

void gemm_f32(const ProductSize& size, const float* const* a, Strided<const float> b,
              float* const* c, Store store) {
  gemm_rows(size, a, b, c, store);
}
void gemm_f64(const ProductSize& size, const double* const* a, Strided<const double> b,
              double* const* c, Store store) {
  gemm_rows(size, a, b, c, store);
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {
namespace {

HWY_EXPORT(gemm_f32);
HWY_EXPORT(gemm_f64);

/// Makes row pointers for up to kBatch rows at a time.
template <class T>
void gemm_strided(const ProductSize& size, Strided<const T> a, Strided<const T> b, Strided<T> c,
                  Store store) {
  constexpr std::int64_t kBatch = 96;
  std::array<const T*, kBatch> a_rows;
  std::array<T*, kBatch> c_rows;
  for (std::int64_t from = 0; from < size.rows; from += kBatch) {
    const std::int64_t count = std::min(kBatch, size.rows - from);
    for (std::int64_t i = 0; i < count; ++i) {
      a_rows[static_cast<std::size_t>(i)] = a.data + (from + i) * a.stride;
      c_rows[static_cast<std::size_t>(i)] = c.data + (from + i) * c.stride;
    }
    tile_gemm({.rows = count, .cols = size.cols, .depth = size.depth}, a_rows.data(), b,
              c_rows.data(), store);
  }
}

}  // namespace

void tile_gemm(const ProductSize& size, const float* const* a, Strided<const float> b,
               float* const* c, Store store) {
  HWY_DYNAMIC_DISPATCH(gemm_f32)(size, a, b, c, store);
}
void tile_gemm(const ProductSize& size, const double* const* a, Strided<const double> b,
               double* const* c, Store store) {
  HWY_DYNAMIC_DISPATCH(gemm_f64)(size, a, b, c, store);
}
void tile_gemm(const ProductSize& size, Strided<const float> a, Strided<const float> b,
               Strided<float> c, Store store) {
  gemm_strided(size, a, b, c, store);
}
void tile_gemm(const ProductSize& size, Strided<const double> a, Strided<const double> b,
               Strided<double> c, Store store) {
  gemm_strided(size, a, b, c, store);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
