// Which queries chose a block: the lists that the backward pass of keys and values walks.
#pragma once

#include <cstdint>
#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// Memory of the lists of one part of a unit: `queries` queries of a sequence with `blocks` blocks.
struct QueryListMemory {
  std::span<std::int32_t> queries;  // [queries * sel_count]
  std::span<std::int32_t> chosen;   // [queries * sel_count]
  std::span<std::int64_t> begins;   // [blocks + 1]
  std::span<std::int64_t> ids;      // [sel_count]

  template <class Taker>
  static QueryListMemory layout(Taker& taker, std::int64_t queries, std::int64_t blocks,
                                std::int64_t sel_count, std::int64_t threads) {
    QueryListMemory m;
    m.queries = taker.template take<std::int32_t>(threads * queries * sel_count);
    m.chosen = taker.template take<std::int32_t>(threads * queries * sel_count);
    m.begins = taker.template take<std::int64_t>(threads * (blocks + 1));
    m.ids = taker.template take<std::int64_t>(threads * sel_count);
    return m;
  }
  /// The part of one thread.
  QueryListMemory of_thread(std::int64_t thread, std::int64_t threads) const;
};

/// For every block of a sequence the queries [first, first + count) of it that chose the block,
/// ascending: a counting sort, so the order is the same from run to run.
class QueryLists {
 public:
  QueryLists(const TensorView& blocks, const Sequence& sequence, std::int64_t kv_head,
             std::int64_t sel_block, std::int64_t first, std::int64_t count,
             const QueryListMemory& memory);

  std::int64_t blocks() const noexcept { return blocks_; }
  std::span<const std::int32_t> of(std::int64_t block) const noexcept;

 private:
  QueryListMemory memory_;
  std::int64_t blocks_ = 0;  // of the last query, and all before it
};

}  // namespace nsa::cpu
