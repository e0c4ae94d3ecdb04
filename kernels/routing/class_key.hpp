// A problem class as integers, so that finding it is comparing words.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::routing {

/// Every field of a ProblemClass.
struct ClassKey {
  std::int64_t q_heads = 0, kv_heads = 0, head_dim_k = 0, head_dim_v = 0;
  Geometry geometry;
  std::uint64_t small = 0;  // direction, phase, dtype and the bins
  bool operator==(const ClassKey&) const = default;
};

template <class Shape>
std::uint64_t small_of(const Shape& s, BatchBin batch, OverlapBin overlap) noexcept {
  return static_cast<std::uint64_t>(s.direction) | static_cast<std::uint64_t>(s.phase) << 8 |
         static_cast<std::uint64_t>(s.dtype) << 16 | static_cast<std::uint64_t>(batch) << 24 |
         static_cast<std::uint64_t>(overlap) << 32;
}
inline std::uint64_t small_of(const Problem& p) noexcept {
  return small_of(p, batch_bin(p.batch()), overlap_bin(p.selection.overlap));
}

/// Of a Problem or a ProblemClass: both have these fields under the same names.
template <class Shape>
ClassKey make_key(const Shape& s, std::uint64_t small) noexcept {
  return {s.q_heads, s.kv_heads, s.head_dim_k, s.head_dim_v, s.geometry, small};
}
/// key == make_key(s, small), without making it: that would cost a third of a look-up. No part of
/// it is called, which would cost a tenth.
template <class Shape>
[[gnu::always_inline]] inline bool has_key(const Shape& s, std::uint64_t small,
                                           const ClassKey& key) noexcept {
  return key.small == small && key.q_heads == s.q_heads && key.kv_heads == s.kv_heads &&
         key.head_dim_k == s.head_dim_k && key.head_dim_v == s.head_dim_v &&
         key.geometry.cmp_block == s.geometry.cmp_block &&
         key.geometry.cmp_stride == s.geometry.cmp_stride &&
         key.geometry.sel_block == s.geometry.sel_block &&
         key.geometry.sel_count == s.geometry.sel_count && key.geometry.window == s.geometry.window;
}
/// Of the fields that differ between the classes of one program.
template <class Shape>
std::uint64_t hash_of(const Shape& s, std::uint64_t small) noexcept {
  const auto of = [](std::int64_t field) { return static_cast<std::uint64_t>(field); };
  const std::uint64_t h =
      of(s.q_heads) * 0x9e3779b97f4a7c15u + of(s.head_dim_k) * 0xff51afd7ed558ccdu +
      of(s.geometry.sel_count) * 0xc4ceb9fe1a85ec53u + small * 0xd6e8feb86659fd93u;
  return h ^ (h >> 32);
}

inline ClassKey key_of(const Problem& p) noexcept { return make_key(p, small_of(p)); }
inline ClassKey key_of(const ProblemClass& c) noexcept {
  return make_key(c, small_of(c, c.batch_bin, c.overlap_bin));
}

}  // namespace nsa::routing
