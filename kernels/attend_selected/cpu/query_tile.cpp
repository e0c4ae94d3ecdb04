#include "attend_selected/cpu/fused_query.hpp"
#include "cpu/simd/tile_gemm.hpp"

namespace nsa::cpu {
namespace {

/// Fills m.entries with the blocks of all tokens, grouped by block.
template <class T>
std::int64_t list_blocks(const LaunchArgs& args, const TensorView& blocks, const QueryTask& task,
                         const QueryTile<T>& m) {
  const Sequence& s = *task.sequence;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < task.tokens; ++i) {
    const std::int64_t token = task.first_token + i;
    const std::int64_t own =
        row_blocks(blocks, s.q_begin + token, task.kv_head, s.first_position() + token,
                   args.problem.geometry.sel_block, m.blocks.data());
    m.used[static_cast<std::size_t>(i)] = own;
    for (std::int64_t slot = 0; slot < own; ++slot) {
      m.entries[static_cast<std::size_t>(count++)] = {m.blocks[static_cast<std::size_t>(slot)], i,
                                                      slot};
    }
  }
  if (task.tokens > 1) {
    std::sort(m.entries.begin(), m.entries.begin() + count,
              [](const TileEntry& a, const TileEntry& b) {
                return a.block != b.block ? a.block < b.block : a.token < b.token;
              });
  }
  return count;
}

/// One product for the entries of one block, all heads: rows of `left_base` to rows of
/// `right_base`.
template <class T>
struct Rows {
  const QueryTile<T>& m;
  std::int64_t heads;
  std::int64_t count = 0;
  void clear() { count = 0; }
  void add(const T* left, std::int64_t ld_left, T* right, std::int64_t ld_right) {
    for (std::int64_t h = 0; h < heads; ++h, ++count) {
      m.left[static_cast<std::size_t>(count)] = left + h * ld_left;
      m.right[static_cast<std::size_t>(count)] = right + h * ld_right;
    }
  }
};

template <class T>
struct Walk {
  const LaunchArgs& args;
  const QueryTask& task;
  const PanelShape& shape;
  const QueryTile<T>& m;
  std::int64_t heads;

  T* scores(const TileEntry& e) const {
    return m.scores.data() + e.token * heads * m.ld_scores + e.slot * shape.width();
  }
  /// Keys of the entry's block that its token may see.
  std::int64_t visible(const TileEntry& e) const {
    const std::int64_t t = task.sequence->first_position() + task.first_token + e.token;
    return std::min(shape.keys, t + 1 - e.block * shape.keys);
  }
  void score(std::span<const TileEntry> group, const T* k) const;
  void weigh(std::span<const TileEntry> group, const T* v) const;
};

template <class T>
void Walk<T>::score(std::span<const TileEntry> group, const T* k) const {
  Rows<T> rows{m, heads};
  for (const TileEntry& e : group) {
    rows.add(m.q.data() + e.token * heads * m.dim_k, m.dim_k, scores(e), m.ld_scores);
  }
  tile_gemm({.rows = rows.count, .cols = shape.width(), .depth = m.dim_k}, m.left.data(),
            {k, shape.width()}, m.right.data(), Store::overwrite);
  for (const TileEntry& e : group) {
    const std::int64_t seen = visible(e);
    for (std::int64_t h = 0; seen < shape.width() && h < heads; ++h) {
      T* line = scores(e) + h * m.ld_scores;
      std::fill(line + seen, line + shape.width(), -std::numeric_limits<T>::infinity());
    }
  }
}

/// Keys after a token are left out of the product, not multiplied by 0: they may hold NaN.
template <class T>
void Walk<T>::weigh(std::span<const TileEntry> group, const T* v) const {
  const auto add = [&](Rows<T>& rows, const TileEntry& e) {
    rows.add(scores(e), m.ld_scores, m.out.data() + e.token * heads * m.out_cols, m.out_cols);
  };
  const auto product = [&](const Rows<T>& rows, std::int64_t depth) {
    tile_gemm({.rows = rows.count, .cols = m.out_cols, .depth = depth}, m.left.data(),
              {v, m.out_cols}, m.right.data(), Store::add);
  };
  Rows<T> whole{m, heads};
  for (const TileEntry& e : group) {
    if (visible(e) == shape.keys) add(whole, e);
  }
  if (whole.count > 0) product(whole, shape.keys);
  for (const TileEntry& e : group) {
    if (visible(e) == shape.keys) continue;
    Rows<T> one{m, heads};
    add(one, e);
    product(one, visible(e));
  }
}

}  // namespace

template <class T>
QueryTile<T> QueryTile<T>::mine(std::int64_t sel_count) const {
  const auto index = static_cast<std::size_t>(parallel_thread_index());
  const auto part = [&](auto all, std::int64_t size) {
    const auto n = static_cast<std::size_t>(size);
    return all.subspan(index * n, n);
  };
  QueryTile m = *this;
  m.q = part(q, rows * dim_k);
  m.scores = part(scores, rows * ld_scores);
  m.out = part(out, rows * out_cols);
  m.left = part(left, rows);
  m.right = part(right, rows);
  m.sums = part(sums, rows);
  m.entries = part(entries, tokens * slots);
  m.blocks = part(blocks, sel_count);
  m.used = part(used, tokens);
  return m;
}

template <class T>
void attend_query_tile(const LaunchArgs& args, const SelectedTensors& tensors,
                       const QueryTask& task, const BlockPanels<T>& panels, const PanelShape& shape,
                       const KvHead& source, const QueryTile<T>& memory) {
  const QueryTile<T> m = memory.mine(args.problem.geometry.sel_count);
  const std::int64_t heads = args.problem.heads_per_group();
  const std::int64_t row0 = task.sequence->q_begin + task.first_token;
  const std::int64_t count = list_blocks(args, tensors.blocks, task, m);
  const std::span<const TileEntry> entries = m.entries.first(static_cast<std::size_t>(count));
  const Walk<T> walk{args, task, shape, m, heads};
  for (std::int64_t i = 0; i < task.tokens; ++i) {
    load_queries(tensors.q, row0 + i, task.kv_head * heads, heads, m.dim_k,
                 m.q.data() + i * heads * m.dim_k);
  }
  std::fill_n(m.out.data(), m.rows * m.out_cols, T{0});
  const auto each_block = [&](auto&& work) {
    for (std::size_t i = 0; i < entries.size();) {
      std::size_t end = i + 1;
      while (end < entries.size() && entries[end].block == entries[i].block) ++end;
      work(entries.subspan(i, end - i));
      i = end;
    }
  };
  each_block([&](std::span<const TileEntry> group) {
    const TileEntry& e = group.front();
    const T* k = nullptr;
    if (panels.packed != nullptr) {
      k = panels.packed->k_panel(e.block);
    } else {
      const std::int64_t first = e.block * shape.keys;
      T* packed_k = panels.k + e.slot * shape.k_elements();
      pack_panel(source, shape, first, std::min(shape.keys, source.len - first), packed_k,
                 panels.v + e.slot * shape.v_elements(), panels.scratch);
      k = packed_k;
    }
    walk.score(group, k);
  });
  for (std::int64_t r = 0; r < task.tokens * heads; ++r) {
    m.sums[static_cast<std::size_t>(r)] =
        softmax_row(m.scores.data() + r * m.ld_scores,
                    m.used[static_cast<std::size_t>(r / heads)] * shape.width());
  }
  each_block([&](std::span<const TileEntry> group) {
    const TileEntry& e = group.front();
    walk.weigh(group, panels.packed != nullptr ? panels.packed->v_panel(e.block)
                                               : panels.v + e.slot * shape.v_elements());
  });
  for (std::int64_t r = 0; r < task.tokens * heads; ++r) {
    store_output(tensors.o, tensors.lse, row0 + r / heads, task.kv_head * heads + r % heads,
                 shape.dim_v, m.out.data() + r * m.out_cols, m.sums[static_cast<std::size_t>(r)]);
  }
}

template struct QueryTile<float>;
template struct QueryTile<double>;
template void attend_query_tile(const LaunchArgs&, const SelectedTensors&, const QueryTask&,
                                const BlockPanels<float>&, const PanelShape&, const KvHead&,
                                const QueryTile<float>&);
template void attend_query_tile(const LaunchArgs&, const SelectedTensors&, const QueryTask&,
                                const BlockPanels<double>&, const PanelShape&, const KvHead&,
                                const QueryTile<double>&);

}  // namespace nsa::cpu
