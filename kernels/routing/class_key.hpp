// A problem class packed into a few words, so that finding it is comparing integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::routing {

/// Every field of a ProblemClass; fields of a valid problem fit without loss.
struct ClassKey {
  std::array<std::uint64_t, 5> words{};
  bool operator==(const ClassKey&) const = default;

  std::uint64_t hash() const noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (const std::uint64_t word : words) h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
  }
};

inline std::uint64_t pack(std::int64_t high, std::int64_t low) noexcept {
  return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
}

/// Of a Problem or a ProblemClass: both have these fields under the same names.
template <class Shape>
ClassKey make_key(const Shape& s, BatchBin batch, OverlapBin overlap) noexcept {
  const auto small =
      static_cast<std::int64_t>(s.direction) | static_cast<std::int64_t>(s.phase) << 4 |
      static_cast<std::int64_t>(s.dtype) << 8 | static_cast<std::int64_t>(batch) << 12 |
      static_cast<std::int64_t>(overlap) << 16;
  return {{pack(s.q_heads, s.kv_heads), pack(s.head_dim_k, s.head_dim_v),
           pack(s.geometry.cmp_block, s.geometry.cmp_stride),
           pack(s.geometry.sel_block, s.geometry.sel_count), pack(s.geometry.window, small)}};
}

inline ClassKey key_of(const ProblemClass& c) noexcept {
  return make_key(c, c.batch_bin, c.overlap_bin);
}
inline ClassKey key_of(const Problem& p) noexcept {
  return make_key(p, batch_bin(p.batch()), overlap_bin(p.selection.overlap));
}

}  // namespace nsa::routing
