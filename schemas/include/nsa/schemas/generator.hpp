// Input data that can be made anywhere (C++, CUDA, Python): a counter-based generator, so that any
// row of any tensor is known without the rows before it. Functions share nothing: threads may call
// them at the same time.
#pragma once

#include <cstdint>

namespace nsa {

/// MurmurHash3's 32-bit finaliser.
constexpr std::uint32_t fmix32(std::uint32_t x) noexcept {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}

/// Element i of the tensor with that seed: uniform in [-scale/2, scale/2).
/// `scale` 2 sqrt(3) gives unit variance. Indices wrap at 2^32, as in the golden vectors.
constexpr double generate(std::uint64_t i, std::uint64_t seed, double scale) noexcept {
  const auto counter = static_cast<std::uint32_t>(i + 1000003u * seed);
  return (fmix32(counter) / 4294967296.0 - 0.5) * scale;
}

inline constexpr double kUnitVarianceScale = 3.4641016151377544;  // 2 sqrt(3)

}  // namespace nsa
