// The backward pass of attention, in units: one sequence and one KV head each, so that no two units
// write the same gradient. Every unit is cut into the same parts whatever the number of threads:
// the queries of a part are its own, and its sums for keys and values are added in the order of the
// parts. So the result is the same from run to run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/backward/panel.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/attend_backward.hpp"

namespace nsa::cpu {

/// Where the keys of a branch stand.
struct KeySpace {
  bool compressed = false;     // cmp_begin, cmp_len of a sequence; else kv_begin, kv_len
  std::int64_t block = kKeys;  // keys of a block: panels do not cross its edges

  std::int64_t begin(const Sequence& s) const noexcept {
    return compressed ? s.cmp_begin : s.kv_begin;
  }
  std::int64_t len(const Sequence& s) const noexcept { return compressed ? s.cmp_len : s.kv_len; }
  /// Panels of a block: kKeys keys each, the last one may have fewer.
  std::int64_t panels_of_block() const noexcept { return (block + kKeys - 1) / kKeys; }
  std::int64_t panels(std::int64_t keys) const noexcept {
    return (keys + block - 1) / block * panels_of_block();
  }
  std::int64_t first_key(std::int64_t panel) const noexcept {
    return panel / panels_of_block() * block + panel % panels_of_block() * kKeys;
  }
  /// Of a panel of a sequence with so many keys; may be 0.
  std::int64_t keys_of(std::int64_t panel, std::int64_t keys) const noexcept;
};

/// Extents of a problem's units.
struct UnitSizes {
  PanelSizes panel;
  std::int64_t heads = 0;   // of a group
  std::int64_t parts = 0;   // of every unit
  std::int64_t rows = 0;    // queries x heads, of all units
  std::int64_t panels = 0;  // of all units

  UnitSizes(const Problem& problem, std::span<const Sequence> sequences, const KeySpace& space);
};

/// One unit. Row i * heads + h is query i and head h of the group.
struct GradientUnit {
  const Sequence* sequence = nullptr;
  std::int64_t kv_head = 0;
  std::int64_t first_row = 0;  // of its rows among those of all units
  std::int64_t first_panel = 0, panels = 0;
};

/// What all units work on; memory of the launch's workspace.
template <class T>
struct GradientMemory {
  std::span<T> q, d_q, d_o, lse, delta;       // of all rows
  std::span<T> k_columns, v_columns, k_rows;  // of all panels
  std::span<T> d_k, d_v;                      // of all panels, for each part
  std::span<T> numbers;                       // of each thread
  std::span<std::uint64_t> masks;             // likewise
  std::span<T*> pointers;                     // likewise

  template <class Taker>
  static GradientMemory layout(Taker& taker, const UnitSizes& sizes);
};

template <class T>
class GradientUnits {
 public:
  /// Loads queries and gradients and packs keys, by all threads. Borrows the arguments.
  GradientUnits(const LaunchArgs& args, const BandBackwardTensors& tensors, const KeySpace& space);

  const UnitSizes& sizes() const noexcept { return sizes_; }
  const KeySpace& space() const noexcept { return space_; }
  std::span<const GradientUnit> units() const noexcept { return units_; }

  /// Makes log-sum-exps again where they were not saved, or rounding them to fp32 would show.
  /// seen(unit, query, emit) calls emit(panel, bits) for the panels that a query sees.
  template <class Seen>
  void refine(const Seen& seen) const;
  /// body(unit, part) for every part of every unit, by all threads; the part's sums are 0 before.
  template <class Body>
  void for_parts(const Body& body) const;

  /// Memory of the calling thread.
  PanelScratch<T> scratch() const;
  /// These queries of a unit, tile_rows rows at most, in the thread's memory.
  TileRows<T> rows(const GradientUnit& unit, std::int64_t first, std::int64_t count) const;
  TileRows<T> rows(const GradientUnit& unit, std::span<const std::int32_t> queries) const;
  /// A panel of the unit, with the sums of that part.
  Panel<T> panel(const GradientUnit& unit, std::int64_t part, std::int64_t index) const;

  /// Sums of all parts and the gradients of the queries, into the outputs, by all threads.
  void store() const;

 private:
  void load_row(const GradientUnit& unit, std::int64_t query, std::int64_t head) const;
  void pack_panel(const GradientUnit& unit, std::int64_t index) const;
  void store_query(const GradientUnit& unit, std::int64_t query) const;
  void store_panel(const GradientUnit& unit, std::int64_t index) const;
  /// body(unit, i) for i < count(unit), of all units.
  template <class Count, class Body>
  void for_all(const Count& count, std::int64_t grain, const Body& body) const;
  bool is_rough(const GradientUnit& unit, std::int64_t query) const;
  void clear(const GradientUnit& unit, std::int64_t part) const;
  TileRows<T> no_rows() const;
  void add_rows(TileRows<T>& tile, const GradientUnit& unit, std::int64_t query) const;

  const LaunchArgs& args_;
  const BandBackwardTensors& tensors_;
  KeySpace space_;
  UnitSizes sizes_;
  GradientMemory<T> memory_;
  std::vector<GradientUnit> units_;
};

/// Bytes that GradientUnits takes.
std::int64_t gradient_unit_bytes(const Problem& problem, std::span<const Sequence> sequences,
                                 const KeySpace& space);

template <class T>
template <class Count, class Body>
void GradientUnits<T>::for_all(const Count& count, std::int64_t grain, const Body& body) const {
  for (const GradientUnit& unit : units_) {
    parallel_for(0, count(unit), grain, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) body(unit, i);
    });
  }
}

template <class T>
template <class Body>
void GradientUnits<T>::for_parts(const Body& body) const {
  const auto count = static_cast<std::int64_t>(units_.size()) * sizes_.parts;
  parallel_for(0, count, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const GradientUnit& unit = units_[static_cast<std::size_t>(i / sizes_.parts)];
      clear(unit, i % sizes_.parts);
      body(unit, i % sizes_.parts);
    }
  });
}

template <class T>
template <class Seen>
void GradientUnits<T>::refine(const Seen& seen) const {
  const auto queries = [](const GradientUnit& unit) { return unit.sequence->q_len; };
  for_all(queries, 8, [&](const GradientUnit& unit, std::int64_t query) {
    if (!is_rough(unit, query)) return;
    const PanelScratch<T> own = scratch();
    const TileRows<T> tile = rows(unit, query, 1);
    std::fill_n(own.max, sizes_.heads, -std::numeric_limits<T>::infinity());
    std::fill_n(own.sum, sizes_.heads, T{0});
    seen(unit, query, [&](std::int64_t index, std::uint64_t bits) {
      std::fill_n(own.masks, sizes_.heads, bits);
      add_panel_sums(sizes_.panel, tile, panel(unit, 0, index), columns_of(bits), own.masks, own);
    });
    T* lse = memory_.lse.data() + unit.first_row + query * sizes_.heads;
    for (std::int64_t h = 0; h < sizes_.heads; ++h) {
      const bool empty = own.sum[h] == T{0};
      lse[h] = empty ? std::numeric_limits<T>::infinity() : own.max[h] + std::log2(own.sum[h]);
    }
  });
}

}  // namespace nsa::cpu
