// 2^x for vectors of float and double. Included once per instruction set (see Highway), so it has
// Highway's toggled guard instead of `#pragma once`.
#if defined(NSA_CPU_EXP2_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NSA_CPU_EXP2_INL
#undef NSA_CPU_EXP2_INL
#else
#define NSA_CPU_EXP2_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {

// Chebyshev interpolation of 2^f on [-1/2, 1/2]; largest relative error 2.5e-9 and 4.3e-18.
// kMagic + x has round(x) + bias in its lowest bits: 1.5 * 2^fraction bits, and the bias.
template <class T>
struct Exp2Traits;
template <>
struct Exp2Traits<float> {
  static constexpr float kCoefficients[] = {1.0f,
                                            0.69314720670283259f,
                                            0.24022650922288757f,
                                            0.05550327226670302f,
                                            0.0096180566785246373f,
                                            0.0013400428177615838f,
                                            0.00015461444698569129f};
  static constexpr float kSmallest = -126.0f;
  static constexpr int kFraction = 23;
  static constexpr float kMagic = 0x1.8p23f + 127;
};
template <>
struct Exp2Traits<double> {
  static constexpr double kCoefficients[] = {1.0,
                                             0.69314718055994529,
                                             0.24022650695910158,
                                             0.055504108664821625,
                                             0.0096181291075872564,
                                             0.0013333558146406471,
                                             0.00015403530463724353,
                                             1.5252733841556773e-05,
                                             1.3215432535912375e-06,
                                             1.0178057087733941e-07,
                                             7.0741942972885211e-09,
                                             4.4558179083360645e-10};
  static constexpr double kSmallest = -1022.0;
  static constexpr int kFraction = 52;
  static constexpr double kMagic = 0x1.8p52 + 1023;
};

/// 2^x for x <= 0; results below the smallest normal number are 0; NaN stays NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exp2_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using Traits = Exp2Traits<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, Traits::kMagic);
  const V shifted = hn::Add(x, magic);
  const V rest = hn::Sub(x, hn::Sub(shifted, magic));
  constexpr int kDegree = static_cast<int>(std::size(Traits::kCoefficients)) - 1;
  V p = hn::Set(d, Traits::kCoefficients[kDegree]);
#pragma GCC unroll 12
  for (int i = kDegree - 1; i >= 0; --i) {
    p = hn::MulAdd(p, rest, hn::Set(d, Traits::kCoefficients[i]));
  }
  const V scale = hn::BitCast(d, hn::ShiftLeft<Traits::kFraction>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, Traits::kSmallest)), hn::Mul(p, scale));
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
