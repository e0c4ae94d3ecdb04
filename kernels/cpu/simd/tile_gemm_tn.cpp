#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/tile_gemm_tn.cpp"
#include "cpu/simd/tile_gemm_tn.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd/register_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int kMr, int kNv, class T>
void micro(std::int64_t depth, const T* a, std::int64_t lda, const T* const* b, T* c,
           std::int64_t ldc, std::int64_t column) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kMr][kNv];
#pragma GCC unroll 8
  for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) sum[i][j] = hn::LoadU(d, c + i * ldc + column + j * lanes);
  }
  for (std::int64_t k = 0; k < depth; ++k, a += lda) {
    const T* panel = b[k] + column;
    hn::Vec<decltype(d)> right[kNv];
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) right[j] = hn::LoadU(d, panel + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < kMr; ++i) {
      const auto left = hn::Set(d, a[i]);
#pragma GCC unroll 4
      for (int j = 0; j < kNv; ++j) sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kNv; ++j) hn::StoreU(sum[i][j], d, c + i * ldc + column + j * lanes);
  }
}

template <class T>
void gemm_tn(const ProductSize& size, Strided<const T> a, const T* const* b, Strided<T> c) {
  static constexpr auto kMicro =
      tile_table([](auto rows, auto vectors) { return micro<rows(), vectors(), T>; });
  for_tiles<T>(size, [&](std::size_t tile, std::int64_t row, std::int64_t column) {
    kMicro[tile](size.depth, a.data + row, a.stride, b, c.data + row * c.stride, c.stride, column);
  });
}

void tn_f32(const ProductSize& size, Strided<const float> a, const float* const* b,
            Strided<float> c) {
  gemm_tn(size, a, b, c);
}
void tn_f64(const ProductSize& size, Strided<const double> a, const double* const* b,
            Strided<double> c) {
  gemm_tn(size, a, b, c);
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(tn_f32);
HWY_EXPORT(tn_f64);

void tile_gemm_tn(const ProductSize& size, Strided<const float> a, const float* const* b,
                  Strided<float> c) {
  HWY_DYNAMIC_DISPATCH(tn_f32)(size, a, b, c);
}
void tile_gemm_tn(const ProductSize& size, Strided<const double> a, const double* const* b,
                  Strided<double> c) {
  HWY_DYNAMIC_DISPATCH(tn_f64)(size, a, b, c);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
