#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/softmax_gradient.cpp"
#include "cpu/simd/softmax_gradient.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd/exp2-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// All ones in the lanes whose bit is set, from `bit` on.
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, std::uint64_t bits, int bit) {
  using U = hn::TFromD<hn::RebindToUnsigned<D>>;
  const hn::RebindToUnsigned<D> du;
  const auto one_hot = hn::Shl(hn::Set(du, U{1}), hn::Iota(du, U{0}));
  const auto word = hn::Set(du, static_cast<U>(bits >> bit));
  return hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(du, hn::TestBit(word, one_hot))));
}

template <class T>
void gradient_row(T lse_of_row, T delta_of_row, T* scores, T* d_p, std::int64_t cols,
                  const std::uint64_t* mask, int first_bit) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto lse = hn::Set(d, lse_of_row), delta = hn::Set(d, delta_of_row);
  for (std::int64_t c = 0; c < cols; c += lanes) {
    auto p = exp2_of(d, hn::Sub(hn::LoadU(d, scores + c), lse));
    auto d_logit = hn::Mul(p, hn::Sub(hn::LoadU(d, d_p + c), delta));
    if (mask != nullptr) {
      const auto allowed = mask_of(d, *mask, first_bit + static_cast<int>(c));
      p = hn::IfThenElseZero(allowed, p);
      d_logit = hn::IfThenElseZero(allowed, d_logit);
    }
    hn::StoreU(p, d, scores + c);
    hn::StoreU(d_logit, d, d_p + c);
  }
}

template <class T>
void gradient_rows(const GradientRows<T>& r, T* scores, T* d_p, std::int64_t ld, std::int64_t cols,
                   const std::uint64_t* masks, int first_bit) {
  for (std::int64_t i = 0; i < r.rows; ++i) {
    gradient_row(r.lse[i], r.delta[i], scores + i * ld, d_p + i * ld, cols,
                 masks == nullptr ? nullptr : masks + i, first_bit);
  }
}

void gradient_f32(const GradientRows<float>& r, float* scores, float* d_p, std::int64_t ld,
                  std::int64_t cols, const std::uint64_t* masks, int first_bit) {
  gradient_rows(r, scores, d_p, ld, cols, masks, first_bit);
}
void gradient_f64(const GradientRows<double>& r, double* scores, double* d_p, std::int64_t ld,
                  std::int64_t cols, const std::uint64_t* masks, int first_bit) {
  gradient_rows(r, scores, d_p, ld, cols, masks, first_bit);
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(gradient_f32);
HWY_EXPORT(gradient_f64);

void softmax_gradient(const GradientRows<float>& rows, float* scores, float* d_p, std::int64_t ld,
                      std::int64_t cols, const std::uint64_t* masks, int first_bit) {
  HWY_DYNAMIC_DISPATCH(gradient_f32)(rows, scores, d_p, ld, cols, masks, first_bit);
}
void softmax_gradient(const GradientRows<double>& rows, double* scores, double* d_p,
                      std::int64_t ld, std::int64_t cols, const std::uint64_t* masks,
                      int first_bit) {
  HWY_DYNAMIC_DISPATCH(gradient_f64)(rows, scores, d_p, ld, cols, masks, first_bit);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
