#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/generate_rows.cpp"
#include "cpu/simd/generate_rows.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "nsa/schemas/generator.hpp"

HWY_BEFORE_NAMESPACE();
namespace nsa::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<double>;
using DU = hn::Rebind<std::uint32_t, DF>;
using VU = hn::Vec<DU>;

/// As nsa::fmix32.
HWY_INLINE VU fmix32_lanes(VU x) {
  const DU du;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, 0x85ebca6bu));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(du, 0xc2b2ae35u));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

void generate_row_of(std::uint64_t first, std::int64_t n, std::uint64_t seed, double scale,
                     double* out) {
  const DF df;
  const DU du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  // x / 2^32 - 1/2 is (x - 2^31) / 2^32, and x - 2^31 is x with its first bit turned, as a signed
  // number. All of that is exact; the product with the scale is what rounds.
  const auto start = static_cast<std::uint32_t>(first + 1000003u * seed);
  const auto unit = hn::Set(df, 0x1p-32), by = hn::Set(df, scale);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VU hash = fmix32_lanes(hn::Iota(du, start + static_cast<std::uint32_t>(i)));
    const auto number =
        hn::BitCast(hn::RebindToSigned<DU>(), hn::Xor(hash, hn::Set(du, 0x80000000u)));
    hn::StoreU(hn::Mul(hn::Mul(hn::PromoteTo(df, number), unit), by), df, out + i);
  }
  for (; i < n; ++i) out[i] = generate(first + static_cast<std::uint64_t>(i), seed, scale);
}

}  // namespace nsa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nsa::cpu {

HWY_EXPORT(generate_row_of);

void generate_row(std::uint64_t first, std::int64_t n, std::uint64_t seed, double scale,
                  double* out) {
  HWY_DYNAMIC_DISPATCH(generate_row_of)(first, n, seed, scale, out);
}

}  // namespace nsa::cpu
#endif  // HWY_ONCE
