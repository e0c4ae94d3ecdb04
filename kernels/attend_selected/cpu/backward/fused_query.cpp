// `fused_query`, backward, in two passes: the gradient of a query by a walk over its blocks, then
// those of keys and values block by block, from the lists of the queries that chose them. Logits
// are made twice, and nothing but the sums for keys is shared between queries.
#include <algorithm>

#include "attend_selected/cpu/backward/block_lists.hpp"
#include "attend_selected/cpu/backward/seen_blocks.hpp"
#include "cpu/backward/units.hpp"

namespace nsa::cpu {
namespace {

/// The gradient of one query: its own rows alone.
template <class T>
void query_pass(const GradientUnits<T>& units, const SeenBlocks& seen, const GradientUnit& unit,
                std::int64_t query) {
  const TileRows<T> rows = units.rows(unit, query, 1);
  const PanelScratch<T> scratch = units.scratch();
  const PanelSizes& sizes = units.sizes().panel;
  seen(unit, query, [&](std::int64_t index, std::uint64_t bits) {
    std::fill_n(scratch.masks, units.sizes().heads, bits);
    const Panel<T> panel = units.panel(unit, 0, index);
    const PanelColumns columns = columns_of(bits);
    make_d_logits(sizes, rows, panel, columns, scratch.masks, scratch);
    add_d_q(sizes, rows, panel, columns, scratch);
  });
}

}  // namespace

void selected_backward_fused_query(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  const BandBackwardTensors attention = tensors.attention;
  with_compute_type(args.problem.dtype, [&]<class T>() {
    const GradientUnits<T> units(args, attention, block_space(args.problem));
    const BlockTiles<T> tiles(args, units, tensors.blocks);
    const SeenBlocks seen(args, units.space(), tensors.blocks);
    units.refine(seen);
    const auto keys_and_values = [&](const TileRows<T>& rows, const Panel<T>& panel,
                                     const PanelColumns& columns, const std::uint64_t* masks) {
      const PanelScratch<T> scratch = units.scratch();
      make_d_logits(units.sizes().panel, rows, panel, columns, masks, scratch);
      add_d_kv(units.sizes().panel, rows, panel, columns, scratch);
    };
    units.for_parts([&](const GradientUnit& unit, std::int64_t part) {
      const auto queries = tiles.queries_of(unit, part);
      for (std::int64_t query = queries.begin; query < queries.end; ++query)
        query_pass(units, seen, unit, query);
      tiles.for_panels(unit, part, keys_and_values);
    });
    units.store();
  });
}

std::int64_t selected_backward_fused_query_bytes(const Problem& p) { return block_pass_bytes(p); }

}  // namespace nsa::cpu
