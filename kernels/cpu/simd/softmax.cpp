#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/softmax.cpp"
#include "cpu/simd/softmax.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>
#include <limits>

#include "cpu/simd/exp2-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr T kMinusInf = -std::numeric_limits<T>::infinity();

template <class T>
RowSums<T> softmax_of(T* scores, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Four running maxima, so that one does not wait for the other.
  auto high = hn::Set(d, kMinusInf<T>), high1 = high, high2 = high, high3 = high;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= cols; i += 4 * lanes) {
    high = hn::Max(high, hn::LoadU(d, scores + i));
    high1 = hn::Max(high1, hn::LoadU(d, scores + i + lanes));
    high2 = hn::Max(high2, hn::LoadU(d, scores + i + 2 * lanes));
    high3 = hn::Max(high3, hn::LoadU(d, scores + i + 3 * lanes));
  }
  for (; i < cols; i += lanes) high = hn::Max(high, hn::LoadU(d, scores + i));
  high = hn::Max(hn::Max(high, high1), hn::Max(high2, high3));
  const auto max = hn::MaxOfLanes(d, high);
  // With no key allowed, -inf - 0 keeps every weight at 0.
  const auto shift = hn::IfThenElseZero(hn::Ne(max, hn::Set(d, kMinusInf<T>)), max);
  auto sum = hn::Zero(d);
  for (std::int64_t c = 0; c < cols; c += lanes) {
    const auto p = exp2_of(d, hn::Sub(hn::LoadU(d, scores + c), shift));
    hn::StoreU(p, d, scores + c);
    sum = hn::Add(sum, p);
  }
  return {hn::GetLane(max), hn::GetLane(hn::SumOfLanes(d, sum))};
}

/// All ones in the lanes whose bit is set, from `bit` on.
template <class D>
HWY_INLINE hn::Mask<D> mask_from_bits(D d, std::uint64_t bits, int bit) {
  using U = hn::TFromD<hn::RebindToUnsigned<D>>;
  const hn::RebindToUnsigned<D> du;
  const auto one_hot = hn::Shl(hn::Set(du, U{1}), hn::Iota(du, U{0}));
  const auto word = hn::Set(du, static_cast<U>(bits >> bit));
  return hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(du, hn::TestBit(word, one_hot))));
}

template <class T>
void online_row(const OnlineRows<T>& s, std::int64_t row, T* scores, std::int64_t cols,
                const std::uint64_t* masks, int first_bit) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto nothing = hn::Set(d, kMinusInf<T>);
  auto high = hn::Set(d, s.max[row]);
  for (std::int64_t c = 0; c < cols; c += lanes) {
    auto x = hn::LoadU(d, scores + c);
    if (masks != nullptr) {
      x = hn::IfThenElse(mask_from_bits(d, masks[row], first_bit + static_cast<int>(c)), x,
                         nothing);
      hn::StoreU(x, d, scores + c);
    }
    high = hn::Max(high, x);
  }
  const auto max = hn::MaxOfLanes(d, high);
  const auto shift = hn::IfThenElseZero(hn::Ne(max, nothing), max);
  auto sum = hn::Zero(d);
  for (std::int64_t c = 0; c < cols; c += lanes) {
    const auto p = exp2_of(d, hn::Sub(hn::LoadU(d, scores + c), shift));
    hn::StoreU(p, d, scores + c);
    sum = hn::Add(sum, p);
  }
  const T new_max = hn::GetLane(max);
  T kept = s.sum[row];
  if (!(new_max == s.max[row]) && kept != T{0}) {
    const auto factor = exp2_of(d, hn::Sub(hn::Set(d, s.max[row]), shift));
    kept *= hn::GetLane(factor);
    T* out = s.out + row * s.ld_out;
    for (std::int64_t c = 0; c < s.out_cols; c += lanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, out + c), factor), d, out + c);
    }
  }
  s.max[row] = new_max;
  s.sum[row] = kept + hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
void online_rows(const OnlineRows<T>& s, T* scores, std::int64_t ld, std::int64_t cols,
                 const std::uint64_t* masks, int first_bit) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    online_row(s, row, scores + row * ld, cols, masks, first_bit);
  }
}

template <class T>
void scale(T* x, std::int64_t n, T factor) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, factor);
  for (std::int64_t i = 0; i < n; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), by), d, x + i);
}

RowSums<float> softmax_f32(float* s, std::int64_t n) { return softmax_of(s, n); }
RowSums<double> softmax_f64(double* s, std::int64_t n) { return softmax_of(s, n); }
void online_f32(const OnlineRows<float>& s, float* scores, std::int64_t ld, std::int64_t cols,
                const std::uint64_t* masks, int first_bit) {
  online_rows(s, scores, ld, cols, masks, first_bit);
}
void online_f64(const OnlineRows<double>& s, double* scores, std::int64_t ld, std::int64_t cols,
                const std::uint64_t* masks, int first_bit) {
  online_rows(s, scores, ld, cols, masks, first_bit);
}
void scale_f32(float* x, std::int64_t n, float factor) { scale(x, n, factor); }
void scale_f64(double* x, std::int64_t n, double factor) { scale(x, n, factor); }

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(online_f32);
HWY_EXPORT(online_f64);
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_f64);

RowSums<float> softmax_row(float* scores, std::int64_t cols) {
  return HWY_DYNAMIC_DISPATCH(softmax_f32)(scores, cols);
}
RowSums<double> softmax_row(double* scores, std::int64_t cols) {
  return HWY_DYNAMIC_DISPATCH(softmax_f64)(scores, cols);
}
void online_softmax(const OnlineRows<float>& state, float* scores, std::int64_t ld,
                    std::int64_t cols, const std::uint64_t* masks, int first_bit) {
  HWY_DYNAMIC_DISPATCH(online_f32)(state, scores, ld, cols, masks, first_bit);
}
void online_softmax(const OnlineRows<double>& state, double* scores, std::int64_t ld,
                    std::int64_t cols, const std::uint64_t* masks, int first_bit) {
  HWY_DYNAMIC_DISPATCH(online_f64)(state, scores, ld, cols, masks, first_bit);
}
void scale_row(float* x, std::int64_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(scale_f32)(x, n, factor);
}
void scale_row(double* x, std::int64_t n, double factor) {
  HWY_DYNAMIC_DISPATCH(scale_f64)(x, n, factor);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
