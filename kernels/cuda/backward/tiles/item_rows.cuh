// The rows that pass by a tile of keys.
#pragma once

#include "cuda/backward/tiles/partial_places.cuh"
#include "cuda/flash/query_of_row.cuh"

namespace nsa::cuda {

/// Rows of an item: heads of a group, query after query.
struct ItemRows {
  const BackwardParams& p;
  const KeyOutputs& out;
  const KeyItem& item;
  const int* entries;  // of a listed item, in shared memory
  int tile_keys;
  QueryOfRow query_of;

  __device__ ItemRows(const BackwardParams& params, const KeyOutputs& outputs,
                      const KeyItem& of_item, const int* listed, int keys_of_tile)
      : p(params),
        out(outputs),
        item(of_item),
        entries(listed),
        tile_keys(keys_of_tile),
        query_of(params.attend.group) {}

  struct Row {
    std::int64_t token = -1;  // none
    int head = 0;             // of the group
    int entry = 0;
  };
  __device__ int count() const { return item.queries * p.attend.group; }
  __device__ Row row(int r) const {
    if (r >= count()) return {};
    const int query = query_of(r);
    Row row;
    row.head = r - query * p.attend.group;
    if (item.entries) {
      row.entry = entries[query];
      row.token = out.first_token + (row.entry & ((1 << kEntryShift) - 1));
    } else {
      row.token = item.keys.sequence.q_begin + item.first + query;
    }
    return row;
  }
  /// Keys of the tile that the row's query sees.
  __device__ int2 seen(const Row& row) const {
    if (row.token < 0) return make_int2(0, 1 << 30);
    const Sequence& s = item.keys.sequence;
    const auto t = static_cast<int>(s.kv_len - s.q_len + row.token - s.q_begin);
    const KeyRun run = band_keys(p.band, t);
    return make_int2(run.begin - item.keys.first, min(run.end - item.keys.first, item.keys.count));
  }
  /// Row of the partial results of one pick of the row's query.
  __device__ std::int64_t place(const Row& row) const {
    if (row.token < 0) return -1;
    return PartialPlaces(p, out, item, tile_keys)(row.token, row.entry >> kEntryShift) + row.head;
  }
};

}  // namespace nsa::cuda
