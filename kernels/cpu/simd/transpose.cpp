#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/transpose.cpp"
#include "cpu/simd/transpose.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "cpu/simd/tile_gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void transpose(const T* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim, T* out,
               std::int64_t ld_out) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using I = hn::TFromD<decltype(di)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto index = hn::Mul(hn::Iota(di, I{0}), hn::Set(di, static_cast<I>(ld_in)));
  const std::int64_t whole = keys / lanes * lanes;
  for (std::int64_t i = 0; i < dim; ++i) {
    T* row = out + i * ld_out;
    for (std::int64_t key = 0; key < whole; key += lanes) {
      hn::StoreU(hn::GatherIndex(d, in + key * ld_in + i, index), d, row + key);
    }
    for (std::int64_t key = whole; key < keys; ++key) row[key] = in[key * ld_in + i];
    for (std::int64_t key = keys; key < pad_up(keys); ++key) row[key] = T{0};
  }
}

template <class T>
bool finite(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);  // x * 0 is 0 for finite x, else NaN
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), sum);
  T rest = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) rest += x[i] * T{0};
  return rest == T{0};
}

void transpose_f32(const float* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                   float* out, std::int64_t ld_out) {
  transpose(in, ld_in, keys, dim, out, ld_out);
}
void transpose_f64(const double* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                   double* out, std::int64_t ld_out) {
  transpose(in, ld_in, keys, dim, out, ld_out);
}
bool finite_f32(const float* x, std::int64_t n) { return finite(x, n); }
bool finite_f64(const double* x, std::int64_t n) { return finite(x, n); }

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(transpose_f32);
HWY_EXPORT(transpose_f64);
HWY_EXPORT(finite_f32);
HWY_EXPORT(finite_f64);

void transpose_rows(const float* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                    float* out, std::int64_t ld_out) {
  HWY_DYNAMIC_DISPATCH(transpose_f32)(in, ld_in, keys, dim, out, ld_out);
}
void transpose_rows(const double* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                    double* out, std::int64_t ld_out) {
  HWY_DYNAMIC_DISPATCH(transpose_f64)(in, ld_in, keys, dim, out, ld_out);
}
bool all_finite(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(finite_f32)(x, n); }
bool all_finite(const double* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(finite_f64)(x, n); }

}  // namespace nsa::cpu
#endif  // HWY_ONCE
