#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/half_rows.cpp"
#include "cpu/simd/half_rows.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<std::uint32_t>;
using DI = hn::ScalableTag<std::int32_t>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;

// The steps are those of half.hpp, branches turned into selections.

HWY_INLINE VF bf16_lanes(VU bits) { return hn::BitCast(DF(), hn::ShiftLeft<16>(bits)); }

HWY_INLINE VF fp16_lanes(VU bits) {
  const DU du;
  const DF df;
  const VU sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const VU moved = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
  const VF scaled = hn::Mul(hn::BitCast(df, moved), hn::Set(df, 0x1p112f));
  const VU special = hn::Or(moved, hn::Set(du, 0x7f800000u));
  const auto is_special = hn::Gt(moved, hn::Set(du, 0x0f7fffffu));
  return hn::BitCast(df,
                     hn::Or(sign, hn::IfThenElse(is_special, special, hn::BitCast(du, scaled))));
}

HWY_INLINE VU to_bf16_lanes(VF value) {
  const DU du;
  const VU bits = hn::BitCast(du, value);
  const VU high = hn::ShiftRight<16>(bits);
  const VU even = hn::And(high, hn::Set(du, 1u));
  const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(even, hn::Set(du, 0x7fffu))));
  const auto is_nan = hn::Gt(hn::And(bits, hn::Set(du, 0x7fffffffu)), hn::Set(du, 0x7f800000u));
  return hn::IfThenElse(is_nan, hn::Or(high, hn::Set(du, 0x40u)), rounded);
}

HWY_INLINE VU to_fp16_lanes(VF value) {
  const DU du;
  const DF df;
  const VU bits = hn::BitCast(du, value);
  const VU sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
  const VU magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
  const VU odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const VU sum = hn::Add(magnitude, hn::Add(odd, hn::Set(du, 0xfffu)));
  const VU normal = hn::ShiftRight<13>(hn::Sub(sum, hn::Set(du, 0x38000000u)));
  const VF half = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f));
  const VU tiny = hn::Sub(hn::BitCast(du, half), hn::Set(du, 0x3f000000u));
  VU result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), tiny, normal);
  result =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477fefffu)), hn::Set(du, 0x7c00u), result);
  result =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000u)), hn::Set(du, 0x7e00u), result);
  return hn::Or(sign, result);
}

/// As nsa::round_to_odd, by the bits: cut off what fp32 has no room for, and remember whether that
/// was anything in the last bit kept. Numbers below fp32's normal ones have less room: one by one.
HWY_INLINE std::int64_t round_to_odd_lanes(const double* in, std::int64_t n, float* out) {
  const hn::ScalableTag<double> df;
  const hn::ScalableTag<std::uint64_t> du;
  const hn::Rebind<float, decltype(df)> d32;
  const auto dropped = hn::Set(du, (std::uint64_t{1} << 29) - 1);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(df, in + i);
    const auto bits = hn::BitCast(du, value);
    const auto size = hn::Abs(value);
    const auto tiny = hn::And(hn::Lt(size, hn::Set(df, 0x1p-126)), hn::Gt(size, hn::Zero(df)));
    if (!hn::AllFalse(df, tiny)) {
      for (std::int64_t j = i; j < i + lanes; ++j) out[j] = nsa::round_to_odd(in[j]);
      continue;
    }
    const auto rest = hn::And(bits, dropped);
    const auto sticky = hn::ShiftLeft<29>(hn::ShiftRight<29>(hn::Add(rest, dropped)));
    const auto odd = hn::Or(hn::AndNot(dropped, bits), sticky);
    hn::StoreU(hn::DemoteTo(d32, hn::BitCast(df, odd)), d32, out + i);
  }
  return i;
}

template <class Lanes, class One>
HWY_INLINE void widen(const std::uint16_t* in, std::int64_t n, float* out, Lanes lanes_of,
                      One one) {
  const DU du;
  const hn::Rebind<std::uint16_t, DU> d16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(du));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(lanes_of(hn::PromoteTo(du, hn::LoadU(d16, in + i))), DF(), out + i);
  }
  for (; i < n; ++i) out[i] = one(in[i]);
}

template <class Lanes, class One>
HWY_INLINE void narrow(const float* in, std::int64_t n, std::uint16_t* out, Lanes lanes_of,
                       One one) {
  const hn::Rebind<std::uint16_t, DU> d16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(DF()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VU bits = lanes_of(hn::LoadU(DF(), in + i));  // at most 65535: nothing saturates
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(DI(), bits)), d16, out + i);
  }
  for (; i < n; ++i) out[i] = one(in[i]);
}

void widen_bf16_of(const std::uint16_t* in, std::int64_t n, float* out) {
  widen(
      in, n, out, [](VU v) HWY_ATTR { return bf16_lanes(v); }, bf16_to_float);
}
void widen_fp16_of(const std::uint16_t* in, std::int64_t n, float* out) {
  widen(
      in, n, out, [](VU v) HWY_ATTR { return fp16_lanes(v); }, fp16_to_float);
}
void narrow_bf16_of(const float* in, std::int64_t n, std::uint16_t* out) {
  narrow(
      in, n, out, [](VF v) HWY_ATTR { return to_bf16_lanes(v); }, float_to_bf16);
}
void narrow_fp16_of(const float* in, std::int64_t n, std::uint16_t* out) {
  narrow(
      in, n, out, [](VF v) HWY_ATTR { return to_fp16_lanes(v); }, float_to_fp16);
}

void round_to_odd_of(const double* in, std::int64_t n, float* out) {
  for (std::int64_t i = round_to_odd_lanes(in, n, out); i < n; ++i)
    out[i] = nsa::round_to_odd(in[i]);
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(widen_bf16_of);
HWY_EXPORT(widen_fp16_of);
HWY_EXPORT(narrow_bf16_of);
HWY_EXPORT(narrow_fp16_of);
HWY_EXPORT(round_to_odd_of);

void widen_bf16(const std::uint16_t* in, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(widen_bf16_of)(in, n, out);
}
void widen_fp16(const std::uint16_t* in, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(widen_fp16_of)(in, n, out);
}
void narrow_to_bf16(const float* in, std::int64_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16_of)(in, n, out);
}
void narrow_to_fp16(const float* in, std::int64_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(narrow_fp16_of)(in, n, out);
}
void round_to_odd(const double* in, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(round_to_odd_of)(in, n, out);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
