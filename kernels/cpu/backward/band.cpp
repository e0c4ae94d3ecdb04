#include "cpu/backward/band.hpp"

#include "cpu/backward/units.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {
namespace {

KeySpace space_of(const Band& band) { return {.compressed = band.kind == BandKind::compressed}; }

template <class T>
class BandPass {
 public:
  BandPass(const GradientUnits<T>& units, const Band& band)
      : units_(units), band_(band), tokens_(tile_tokens(units.sizes().heads)) {}

  /// Every parts-th tile of the unit: later tiles see more keys.
  void run(const GradientUnit& unit, std::int64_t part) const {
    const std::int64_t step = units_.sizes().parts * tokens_;
    for (std::int64_t first = part * tokens_; first < unit.sequence->q_len; first += step) {
      one_tile(unit, part, first, std::min(tokens_, unit.sequence->q_len - first));
    }
  }

  /// Panels that a query sees.
  template <class Emit>
  void seen(const GradientUnit& unit, std::int64_t query, const Emit& emit) const {
    const KeyRun run = keys(unit, query);
    for (std::int64_t i = run.begin / kKeys; i * kKeys < run.end; ++i)
      emit(i, span_bits(run.begin, run.end, i * kKeys));
  }

 private:
  KeyRun keys(const GradientUnit& unit, std::int64_t query) const {
    return band_.keys_of(unit.sequence->first_position() + query);
  }

  void one_tile(const GradientUnit& unit, std::int64_t part, std::int64_t first,
                std::int64_t count) const {
    const KeyRun oldest = keys(unit, first), newest = keys(unit, first + count - 1);
    if (newest.end <= oldest.begin) return;
    const TileRows<T> rows = units_.rows(unit, first, count);
    const PanelScratch<T> scratch = units_.scratch();
    const std::int64_t heads = units_.sizes().heads;
    for (std::int64_t i = oldest.begin / kKeys; i * kKeys < newest.end; ++i) {
      const Panel<T> panel = units_.panel(unit, part, i);
      const std::int64_t begin = i * kKeys;
      if (newest.begin <= begin && oldest.end >= begin + panel.keys) {
        add_panel_gradients(units_.sizes().panel, rows, panel, {0, pad_up(panel.keys)}, nullptr,
                            scratch);
        continue;
      }
      std::uint64_t any = 0;
      for (std::int64_t t = 0; t < count; ++t) {
        const KeyRun run = keys(unit, first + t);
        const std::uint64_t bits = span_bits(run.begin, run.end, begin);
        std::fill_n(scratch.masks + t * heads, heads, bits);
        any |= bits;
      }
      if (any == 0) continue;
      add_panel_gradients(units_.sizes().panel, rows, panel, columns_of(any), scratch.masks,
                          scratch);
    }
  }

  const GradientUnits<T>& units_;
  const Band& band_;
  std::int64_t tokens_;
};

}  // namespace

template <BandKind kKind>
void launch_band_backward(const LaunchArgs& args) {
  const Band band{kKind, args.problem.geometry};
  const BandBackwardTensors tensors = BandBackwardTensors::of(args, branch_of(kKind));
  const WorkspaceScope scope(args.workspace);
  with_compute_type(args.problem.dtype, [&]<class T>() {
    const GradientUnits<T> units(args, tensors, space_of(band));
    const BandPass<T> pass(units, band);
    units.refine([&](const auto&... of) { pass.seen(of...); });
    units.for_parts([&](const GradientUnit& unit, std::int64_t part) { pass.run(unit, part); });
    units.store();
  });
}

template <BandKind kKind>
std::int64_t launch_band_backward_bytes(const Problem& problem) {
  return gradient_unit_bytes(problem, sequences_of(problem), space_of({kKind, problem.geometry}));
}

template void launch_band_backward<BandKind::window>(const LaunchArgs&);
template void launch_band_backward<BandKind::compressed>(const LaunchArgs&);
template std::int64_t launch_band_backward_bytes<BandKind::window>(const Problem&);
template std::int64_t launch_band_backward_bytes<BandKind::compressed>(const Problem&);

}  // namespace nsa::cpu
