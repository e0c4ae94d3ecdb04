// Branches where a query sees one run of keys: the window, the compressed tokens, all tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "operands/attend.hpp"

namespace nsa::cpu {

/// Keys [begin, end) of a sequence, by position.
struct KeyRun {
  std::int64_t begin = 0, end = 0;
};

enum class BandKind : std::uint8_t { window, compressed, causal };
/// Of a stage of its own.
constexpr Branch branch_of(BandKind kind) noexcept {
  return kind == BandKind::window ? Branch::win : Branch::cmp;
}

/// Which run of keys the query at position t sees. Both ends never fall as t grows.
struct Band {
  BandKind kind = BandKind::causal;
  Geometry geometry;

  KeyRun keys_of(std::int64_t t) const noexcept {
    if (kind == BandKind::compressed) return {0, num_compressed(t + 1, geometry)};
    if (kind == BandKind::causal) return {0, t + 1};
    if (geometry.window <= 0) return {0, 0};
    return {std::max<std::int64_t>(0, t - geometry.window + 1), t + 1};
  }
  std::int64_t key_begin(const Sequence& s) const noexcept {
    return kind == BandKind::compressed ? s.cmp_begin : s.kv_begin;
  }
  std::int64_t key_len(const Sequence& s) const noexcept {
    return kind == BandKind::compressed ? s.cmp_len : s.kv_len;
  }
};

/// How the sequences of a batch are laid out while they are worked on.
enum class Layout : std::uint8_t {
  varlen,  // packed by lengths
  dense,   // every sequence padded to the longest, and worked on as if it were that long
};

/// Blocked online softmax on panels of 64 keys, tiles of tokens x heads of a group.
void band_blocked(const LaunchArgs& args, const Band& band, const BandTensors& tensors,
                  Layout layout);
std::int64_t band_blocked_bytes(const Problem& problem, std::span<const Sequence> sequences,
                                const Band& band, Layout layout);

}  // namespace nsa::cpu
