// The panels of keys that a query sees, by its ranges.
#pragma once

#include "attend_selected/cpu/spans.hpp"
#include "cpu/backward/units.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {

/// Bits of the keys from `first` on that lie in one of the spans.
inline std::uint64_t bits_of(std::span<const TokenSpan> spans, std::int64_t first) noexcept {
  std::uint64_t bits = 0;
  for (const TokenSpan& span : spans) bits |= span_bits(span.begin, span.end, first);
  return bits;
}

class SeenRanges {
 public:
  SeenRanges(const LaunchArgs& args, const TensorView& ranges)
      : ranges_(ranges),
        width_(args.problem.geometry.sel_count),
        spans_(args.workspace.take<TokenSpan>(parallel_threads() * width_)) {}
  static std::int64_t bytes(const Problem& p) {
    ByteCounter counter;
    counter.take<TokenSpan>(parallel_threads() * p.geometry.sel_count);
    return counter.bytes();
  }
  /// Room that the spans of a query need.
  std::int64_t width() const noexcept { return width_; }

  /// The spans of a query: ascending, disjoint. Returns how many there are.
  std::int64_t spans(const GradientUnit& unit, std::int64_t query, TokenSpan* out) const {
    const Sequence& s = *unit.sequence;
    return row_spans(ranges_, s.q_begin + query, unit.kv_head, s.first_position() + query, out);
  }
  /// emit(panel of 64 keys, bits of those that it sees), ascending.
  template <class Emit>
  void operator()(const GradientUnit& unit, std::int64_t query, const Emit& emit) const {
    TokenSpan* own = spans_.data() + parallel_thread_index() * width_;
    const std::span found(own, static_cast<std::size_t>(spans(unit, query, own)));
    const std::int64_t end = found.empty() ? 0 : found.back().end;
    for (std::int64_t panel = 0; panel * kKeys < end; ++panel)
      if (const std::uint64_t bits = bits_of(found, panel * kKeys)) emit(panel, bits);
  }

 private:
  const TensorView& ranges_;
  std::int64_t width_;
  std::span<TokenSpan> spans_;  // [threads, sel_count]
};

}  // namespace nsa::cpu
