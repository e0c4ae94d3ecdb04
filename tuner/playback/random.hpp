// Random numbers by their place, not by their order: the same (seed, stream, index) is the same
// number on every machine, whatever was drawn before.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace nsa::tuner::playback {

/// The finaliser of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
/// One key of several.
template <class... More>
constexpr std::uint64_t key(std::uint64_t first, More... more) noexcept {
  std::uint64_t k = mix(first);
  ((k = mix(k ^ static_cast<std::uint64_t>(more))), ...);
  return k;
}
/// A text as a key (FNV-1a).
constexpr std::uint64_t text_key(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}
/// In (0, 1).
constexpr double uniform(std::uint64_t k) noexcept {
  return (static_cast<double>(mix(k) >> 11) + 0.5) / 9007199254740992.0;  // 2^53
}
/// Standard normal (Box and Muller).
inline double normal(std::uint64_t k) noexcept {
  return std::sqrt(-2 * std::log(uniform(k))) *
         std::cos(2 * std::numbers::pi * uniform(k ^ 0x5851f42d4c957f2du));
}

/// What a random number is for; the streams of one key are independent.
enum class Stream : std::uint64_t {
  ripple = 1,
  process_effect,
  handle_effect,
  white,
  outlier,
  correlated,
  recorded,
  lying_cycles
};

}  // namespace nsa::tuner::playback
