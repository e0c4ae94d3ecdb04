// fp32 masters of bf16 weights, held in two halves: the weight is the master rounded to its upper
// 16 bits, ties away from zero, and the lower 16 bits lie beside it. Both together are the master,
// bit for bit: where the lower half is 0x8000 or more the weight was rounded up by one, so the
// lower half read as a signed number is what has to be added. A carry out of the mantissa goes into
// the exponent, as it does in rounding; the largest finite numbers become infinite weights and come
// back finite. A NaN stays a NaN, but does not keep its payload, whose carry could reach the sign.
#pragma once

#include <bit>
#include <cstdint>

namespace nsa::training {

struct MasterHalves {
  std::uint16_t weight = 0;  // bits of a bf16
  std::int16_t low = 0;
};

constexpr MasterHalves split_master(float master) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(master);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0, 0};
  return {static_cast<std::uint16_t>((bits + 0x8000u) >> 16), static_cast<std::int16_t>(bits)};
}

constexpr float join_master(MasterHalves halves) noexcept {
  return std::bit_cast<float>((std::uint32_t{halves.weight} << 16) +
                              static_cast<std::uint32_t>(std::int32_t{halves.low}));
}

inline void split_masters(const float* masters, std::int64_t count, std::uint16_t* weights,
                          std::int16_t* low) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const MasterHalves halves = split_master(masters[i]);
    weights[i] = halves.weight;
    low[i] = halves.low;
  }
}

inline void join_masters(const std::uint16_t* weights, const std::int16_t* low, std::int64_t count,
                         float* masters) noexcept {
  for (std::int64_t i = 0; i < count; ++i) masters[i] = join_master({weights[i], low[i]});
}

}  // namespace nsa::training
