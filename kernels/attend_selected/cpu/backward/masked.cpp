// `masked`, backward: dense attention over all keys so far with a mask made from the ranges.
#include <algorithm>

#include "attend_selected/cpu/backward/seen_ranges.hpp"
#include "cpu/backward/units.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {
namespace {

constexpr KeySpace kSpace{};

template <class T>
class MaskedPass {
 public:
  MaskedPass(const LaunchArgs& args, const GradientUnits<T>& units, const SeenRanges& seen)
      : units_(units),
        seen_(seen),
        tokens_(tile_tokens(units.sizes().heads)),
        spans_(args.workspace.take<TokenSpan>(parallel_threads() * tokens_ * seen.width())) {}
  static std::int64_t bytes(const Problem& p) {
    ByteCounter counter;
    counter.take<TokenSpan>(parallel_threads() * tile_tokens(p.heads_per_group()) *
                            p.geometry.sel_count);
    return counter.bytes();
  }

  void run(const GradientUnit& unit, std::int64_t part) const {
    const std::int64_t step = units_.sizes().parts * tokens_;
    for (std::int64_t first = part * tokens_; first < unit.sequence->q_len; first += step)
      one_tile(unit, part, first, std::min(tokens_, unit.sequence->q_len - first));
  }

 private:
  /// All panels up to the last query: what nobody selected is masked, not left out.
  void one_tile(const GradientUnit& unit, std::int64_t part, std::int64_t first,
                std::int64_t count) const {
    TokenSpan* own = spans_.data() + parallel_thread_index() * tokens_ * seen_.width();
    std::array<std::int64_t, 64> found{};
    for (std::int64_t t = 0; t < count; ++t)
      found[static_cast<std::size_t>(t)] = seen_.spans(unit, first + t, own + t * seen_.width());
    const TileRows<T> rows = units_.rows(unit, first, count);
    const PanelScratch<T> scratch = units_.scratch();
    const std::int64_t heads = units_.sizes().heads;
    const std::int64_t end = unit.sequence->first_position() + first + count;
    for (std::int64_t i = 0; i * kKeys < end; ++i) {
      const Panel<T> panel = units_.panel(unit, part, i);
      for (std::int64_t t = 0; t < count; ++t) {
        const auto kept = static_cast<std::size_t>(found[static_cast<std::size_t>(t)]);
        const std::span spans(own + t * seen_.width(), kept);
        std::fill_n(scratch.masks + t * heads, heads, bits_of(spans, i * kKeys));
      }
      add_panel_gradients(units_.sizes().panel, rows, panel, {0, pad_up(panel.keys)}, scratch.masks,
                          scratch);
    }
  }

  const GradientUnits<T>& units_;
  const SeenRanges& seen_;
  std::int64_t tokens_;
  std::span<TokenSpan> spans_;  // [threads, tokens of a tile, sel_count]
};

}  // namespace

void selected_backward_masked(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  const BandBackwardTensors attention = tensors.attention;
  with_compute_type(args.problem.dtype, [&]<class T>() {
    const GradientUnits<T> units(args, attention, kSpace);
    const SeenRanges seen(args, tensors.ranges);
    const MaskedPass<T> pass(args, units, seen);
    units.refine(seen);
    units.for_parts([&](const GradientUnit& unit, std::int64_t part) { pass.run(unit, part); });
    units.store();
  });
}

std::int64_t selected_backward_masked_bytes(const Problem& p) {
  return gradient_unit_bytes(p, sequences_of(p), kSpace) + SeenRanges::bytes(p) +
         MaskedPass<float>::bytes(p);
}

}  // namespace nsa::cpu
