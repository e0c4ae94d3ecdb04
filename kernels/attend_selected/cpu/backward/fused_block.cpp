// `fused_block`, backward: a block of keys meets the queries that chose it, a tile of them at a
// time. One pass makes all three gradients: the queries of a part are its own, and the sums of the
// parts for a key are added in their order.
#include "attend_selected/cpu/backward/block_lists.hpp"

namespace nsa::cpu {

void selected_backward_fused_block(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  const BandBackwardTensors attention = tensors.attention;
  with_compute_type(args.problem.dtype, [&]<class T>() {
    const GradientUnits<T> units(args, attention, block_space(args.problem));
    const BlockTiles<T> tiles(args, units, tensors.blocks);
    units.refine(SeenBlocks(args, units.space(), tensors.blocks));
    const auto gradients = [&](const TileRows<T>& rows, const Panel<T>& panel,
                               const PanelColumns& columns, const std::uint64_t* masks) {
      add_panel_gradients(units.sizes().panel, rows, panel, columns, masks, units.scratch());
    };
    units.for_parts([&](const GradientUnit& unit, std::int64_t part) {
      tiles.for_panels(unit, part, gradients);
    });
    units.store();
  });
}

std::int64_t selected_backward_fused_block_bytes(const Problem& p) { return block_pass_bytes(p); }

}  // namespace nsa::cpu
