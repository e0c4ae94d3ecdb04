// The panels of keys that a query sees, by its blocks.
#pragma once

#include <algorithm>

#include "attend_selected/cpu/spans.hpp"
#include "cpu/backward/units.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {

class SeenBlocks {
 public:
  /// `space` has the panels of selection blocks.
  SeenBlocks(const LaunchArgs& args, const KeySpace& space, const TensorView& blocks)
      : space_(space),
        blocks_(blocks),
        ids_(args.workspace.take<std::int64_t>(parallel_threads() *
                                               args.problem.geometry.sel_count)) {}
  static std::int64_t bytes(const Problem& p) {
    ByteCounter counter;
    counter.take<std::int64_t>(parallel_threads() * p.geometry.sel_count);
    return counter.bytes();
  }

  /// emit(panel, bits of the keys that it sees), ascending.
  template <class Emit>
  void operator()(const GradientUnit& unit, std::int64_t query, const Emit& emit) const {
    const Sequence& s = *unit.sequence;
    const std::int64_t t = s.first_position() + query, panels = space_.panels_of_block();
    const std::size_t width = ids_.size() / static_cast<std::size_t>(parallel_threads());
    std::int64_t* ids = ids_.data() + width * static_cast<std::size_t>(parallel_thread_index());
    const std::int64_t count =
        row_blocks(blocks_, s.q_begin + query, unit.kv_head, t, space_.block, ids);
    for (std::int64_t i = 0; i < count * panels; ++i) {
      const std::int64_t panel = ids[i / panels] * panels + i % panels;
      const std::int64_t first = space_.first_key(panel);
      const std::int64_t end = first + space_.keys_of(panel, space_.len(s));
      if (const std::uint64_t bits = span_bits(first, std::min(end, t + 1), first))
        emit(panel, bits);
    }
  }

 private:
  const KeySpace& space_;
  const TensorView& blocks_;
  std::span<std::int64_t> ids_;  // [threads, sel_count]
};

}  // namespace nsa::cpu
