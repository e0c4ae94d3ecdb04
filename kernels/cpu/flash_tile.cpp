#include "cpu/flash_tile.hpp"

#include <algorithm>
#include <bit>

#include "cpu/convert.hpp"
#include "cpu/rows.hpp"

namespace nsa::cpu {
namespace {

/// Columns of a panel that are worked on, and whether every token sees all of them.
struct Columns {
  int first, last;       // keys that some token sees
  int work_first, cols;  // rounded to whole vectors
  bool full;
};

Columns columns_of(std::span<const std::uint64_t> masks, bool skip) {
  std::uint64_t some = 0, all = ~std::uint64_t{0};
  for (const std::uint64_t mask : masks) some |= mask, all &= mask;
  if (!skip) return {0, 64, 0, 64, all == ~std::uint64_t{0}};
  if (some == 0) return {0, 0, 0, 0, false};
  constexpr int kStep = static_cast<int>(kPad);
  const int first = std::countr_zero(some), last = 64 - std::countl_zero(some);
  const int work_first = first / kStep * kStep;
  const int work_last = (last + kStep - 1) / kStep * kStep;
  return {first, last, work_first, work_last - work_first,
          (all & span_bits(work_first, work_last, 0)) == span_bits(work_first, work_last, 0)};
}

/// Adds the keys whose V rows hold NaN or Inf to those rows only that may see them.
template <class T>
void add_bad_rows(const TileTask<T>& task, const TileMemory<T>& m, std::int64_t panel,
                  const T* scores, int work_first) {
  const KvHead& source = task.kv->source;
  std::uint64_t bad = task.kv->bad[panel - task.kv->first_panel];
  for (; bad != 0; bad &= bad - 1) {
    const int c = std::countr_zero(bad);
    const std::int64_t key = panel * kPanelKeys + c;
    load_row(source.v, source.v.at(source.begin + key, source.head), task.kv->shape.dim_v,
             m.row.data());
    for (std::int64_t r = 0; r < task.tokens * task.heads; ++r) {
      if ((m.token_masks[static_cast<std::size_t>(r / task.heads)] >> c & 1u) == 0) continue;
      const T p = scores[r * kPanelKeys + c - work_first];
      for (std::int64_t i = 0; i < task.kv->shape.dim_v; ++i) {
        m.out[static_cast<std::size_t>(r * m.out_cols + i)] +=
            p * m.row[static_cast<std::size_t>(i)];
      }
    }
  }
}

template <class T>
void one_panel(const TileTask<T>& task, const TileMemory<T>& m, std::int64_t panel,
               const Columns& columns) {
  const PackedHead<T>& kv = *task.kv;
  const std::int64_t rows = task.tokens * task.heads;
  if (!columns.full) {
    for (std::int64_t r = 0; r < rows; ++r) {
      m.row_masks[static_cast<std::size_t>(r)] =
          m.token_masks[static_cast<std::size_t>(r / task.heads)];
    }
  }
  T* scores = m.scores.data();
  tile_gemm({.rows = rows, .cols = columns.cols, .depth = m.dim_k}, {m.q.data(), m.dim_k},
            {kv.k_panel(panel) + columns.work_first, kv.shape.width()}, {scores, kPanelKeys},
            Store::overwrite);
  const OnlineRows<T> state{.rows = rows,
                            .max = m.max.data(),
                            .sum = m.sum.data(),
                            .out = m.out.data(),
                            .ld_out = m.out_cols,
                            .out_cols = m.out_cols};
  online_softmax(state, scores, kPanelKeys, columns.cols,
                 columns.full ? nullptr : m.row_masks.data(), columns.work_first);
  tile_gemm({.rows = rows, .cols = m.out_cols, .depth = columns.last - columns.first},
            {scores + columns.first - columns.work_first, kPanelKeys},
            {kv.v_panel(panel) + columns.first * kv.shape.out_cols(), kv.shape.out_cols()},
            {m.out.data(), m.out_cols}, Store::add);
  if (kv.bad != nullptr && kv.bad[panel - kv.first_panel] != 0) {
    add_bad_rows(task, m, panel, scores, columns.work_first);
  }
}

}  // namespace

template <class T>
TileMemory<T> TileMemory<T>::mine() const {
  const auto index = static_cast<std::size_t>(parallel_thread_index());
  const auto part = [&](auto all, std::int64_t size) {
    const auto n = static_cast<std::size_t>(size);
    return all.subspan(index * n, n);
  };
  TileMemory m = *this;
  m.q = part(q, rows * dim_k);
  m.scores = part(scores, rows * kPanelKeys);
  m.max = part(max, rows);
  m.sum = part(sum, rows);
  m.out = part(out, rows * out_cols);
  m.row = part(row, out_cols);
  m.token_masks = part(token_masks, rows);
  m.row_masks = part(row_masks, rows);
  return m;
}

template <class T>
void flash_tile(const TileTask<T>& task, const TileMemory<T>& memory, const MaskOfPanel& masks) {
  const TileMemory<T> m = memory.mine();
  const std::int64_t rows = task.tokens * task.heads;
  for (std::int64_t i = 0; i < task.tokens; ++i) {
    T* q = m.q.data() + i * task.heads * m.dim_k;
    if (i < task.real_tokens) {
      load_queries(task.q, task.q_row + i, task.first_head, task.heads, m.dim_k, q);
    } else {
      std::fill_n(q, task.heads * m.dim_k, T{0});
    }
  }
  std::fill_n(m.max.data(), rows, -std::numeric_limits<T>::infinity());
  std::fill_n(m.sum.data(), rows, T{0});
  std::fill_n(m.out.data(), rows * m.out_cols, T{0});
  const auto tokens = static_cast<std::size_t>(task.tokens);
  for (std::int64_t panel = task.panel_begin; panel < task.panel_end; ++panel) {
    masks(panel, m.token_masks.data());
    const Columns columns = columns_of(m.token_masks.first(tokens), task.skip);
    if (columns.cols > 0) one_panel(task, m, panel, columns);
  }
  for (std::int64_t i = 0; i < task.real_tokens; ++i) {
    for (std::int64_t h = 0; h < task.heads; ++h) {
      const std::int64_t r = i * task.heads + h;
      const RowSums<T> sums{m.max[static_cast<std::size_t>(r)], m.sum[static_cast<std::size_t>(r)]};
      store_output(task.out, task.lse, task.q_row + i, task.first_head + h, task.kv->shape.dim_v,
                   m.out.data() + r * m.out_cols, sums);
    }
  }
}

template struct TileMemory<float>;
template struct TileMemory<double>;
template void flash_tile(const TileTask<float>&, const TileMemory<float>&, const MaskOfPanel&);
template void flash_tile(const TileTask<double>&, const TileMemory<double>&, const MaskOfPanel&);

}  // namespace nsa::cpu
