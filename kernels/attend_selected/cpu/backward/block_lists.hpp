// Tiles of queries that chose a block, block after block: what the passes over keys walk.
#pragma once

#include <algorithm>

#include "attend_selected/cpu/backward/query_lists.hpp"
#include "attend_selected/cpu/backward/seen_blocks.hpp"
#include "cpu/backward/units.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {

/// Panels that do not cross the edges of selection blocks.
inline KeySpace block_space(const Problem& p) { return {.block = p.geometry.sel_block}; }

/// Memory for the lists of a part, for each thread.
template <class Taker>
QueryListMemory list_memory(Taker& taker, const Problem& p, const UnitSizes& sizes) {
  return QueryListMemory::layout(taker, (p.max_seq_len() + sizes.parts - 1) / sizes.parts,
                                 num_blocks(p.max_kv_len(), p.geometry), p.geometry.sel_count,
                                 parallel_threads());
}

/// Workspace of a row that walks blocks.
inline std::int64_t block_pass_bytes(const Problem& p) {
  const auto sequences = sequences_of(p);
  ByteCounter counter;
  list_memory(counter, p, UnitSizes(p, sequences, block_space(p)));
  return gradient_unit_bytes(p, sequences, block_space(p)) + SeenBlocks::bytes(p) + counter.bytes();
}

template <class T>
class BlockTiles {
 public:
  BlockTiles(const LaunchArgs& args, const GradientUnits<T>& units, const TensorView& blocks)
      : units_(units),
        blocks_(blocks),
        sel_block_(args.problem.geometry.sel_block),
        memory_(list_memory(args.workspace, args.problem, units.sizes())) {}

  /// Queries of a part: neighbours, so that what they chose together stays in a cache.
  TokenSpan queries_of(const GradientUnit& unit, std::int64_t part) const {
    const std::int64_t parts = units_.sizes().parts, queries = unit.sequence->q_len;
    return {queries * part / parts, queries * (part + 1) / parts};
  }

  /// body(rows, panel, columns, masks or null) for every tile of queries of the part that chose a
  /// block, and each of its panels; blocks ascend.
  template <class Body>
  void for_panels(const GradientUnit& unit, std::int64_t part, const Body& body) const {
    const TokenSpan queries = queries_of(unit, part);
    const QueryLists lists(blocks_, *unit.sequence, unit.kv_head, sel_block_, queries.begin,
                           queries.end - queries.begin,
                           memory_.of_thread(parallel_thread_index(), parallel_threads()));
    const auto tokens = static_cast<std::size_t>(tile_tokens(units_.sizes().heads));
    for (std::int64_t block = 0; block < lists.blocks(); ++block) {
      auto list = lists.of(block);
      for (; !list.empty(); list = list.subspan(std::min(tokens, list.size())))
        one_tile(unit, part, block, list.first(std::min(tokens, list.size())), body);
    }
  }

 private:
  template <class Body>
  void one_tile(const GradientUnit& unit, std::int64_t part, std::int64_t block,
                std::span<const std::int32_t> queries, const Body& body) const {
    const TileRows<T> rows = units_.rows(unit, queries);
    const std::int64_t panels = units_.space().panels_of_block();
    const std::int64_t oldest = unit.sequence->first_position() + queries.front();
    for (std::int64_t i = block * panels; i < (block + 1) * panels; ++i) {
      const Panel<T> panel = units_.panel(unit, part, i);
      if (panel.keys == 0) return;
      const std::int64_t first = units_.space().first_key(i);
      if (first + panel.keys <= oldest + 1) {
        body(rows, panel, PanelColumns{0, pad_up(panel.keys)}, nullptr);
      } else {
        causal_panel(unit, rows, panel, first, queries, body);
      }
    }
  }

  /// A panel that not all of the queries see to its end.
  template <class Body>
  void causal_panel(const GradientUnit& unit, const TileRows<T>& rows, const Panel<T>& panel,
                    std::int64_t first, std::span<const std::int32_t> queries,
                    const Body& body) const {
    std::uint64_t* masks = units_.scratch().masks;
    const std::int64_t heads = units_.sizes().heads;
    std::uint64_t any = 0;
    for (const std::int32_t query : queries) {
      const std::int64_t t = unit.sequence->first_position() + query;
      const std::uint64_t bits = span_bits(first, std::min(t + 1, first + panel.keys), first);
      masks = std::fill_n(masks, heads, bits);
      any |= bits;
    }
    if (any != 0) body(rows, panel, columns_of(any), units_.scratch().masks);
  }

  const GradientUnits<T>& units_;
  const TensorView& blocks_;
  std::int64_t sel_block_;
  QueryListMemory memory_;
};

}  // namespace nsa::cpu
