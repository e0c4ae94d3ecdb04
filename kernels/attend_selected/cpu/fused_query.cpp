// fused_query: see fused_query.hpp. Coordinate bq: queries that walk their blocks together.
#include "attend_selected/cpu/fused_query.hpp"

namespace nsa::cpu {
namespace {

PanelShape block_shape(const Problem& p) {
  return {p.geometry.sel_block, p.head_dim_k, p.head_dim_v};
}

std::int64_t tile_of(const Point& point) {
  for (const auto& [name, value] : point) {
    if (name == "bq") return std::max<std::int64_t>(1, value);
  }
  return 1;
}

/// Few queries before a long cache: packing all of it would cost more than the attention.
bool packs_per_query(const Problem& p, std::span<const Sequence> sequences) {
  std::int64_t used = 0, all = 0;
  for (const Sequence& s : sequences) {
    used += s.q_len * p.geometry.sel_count;
    all += num_blocks(s.kv_len, p.geometry);
  }
  return used < all;
}

template <class T>
struct Memory {
  PackedMemory<T> packed;
  std::span<T> k, v, scratch;  // per thread, where blocks are packed per query
  QueryTile<T> tile;
};

template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& p, std::span<const Sequence> sequences,
                        std::int64_t tokens, bool per_query) {
  const PanelShape shape = block_shape(p);
  Memory<T> m;
  m.tile = QueryTile<T>::layout(taker, p, tokens, shape);
  if (per_query) {
    const std::int64_t panels = parallel_threads() * m.tile.slots;
    m.k = taker.template take<T>(panels * shape.k_elements());
    m.v = taker.template take<T>(panels * shape.v_elements());
    m.scratch = taker.template take<T>(parallel_threads() * shape.keys * shape.dim_k);
  } else {
    std::int64_t panels = 0;
    for (const Sequence& s : sequences) panels += num_blocks(s.kv_len, p.geometry) * p.kv_heads;
    m.packed = PackedMemory<T>::layout(taker, shape, panels);
  }
  return m;
}

template <class T>
struct Launch {
  const LaunchArgs& args;
  const SelectedTensors& tensors;
  PanelShape shape;
  Memory<T> memory;
  bool per_query;
  std::vector<PackedHead<T>> packed;  // [sequences, kv_heads]

  void attend(const QueryTask& task, std::size_t head) const {
    const KvHead source{tensors.kv.k, tensors.kv.v, task.kv_head, task.sequence->kv_begin,
                        task.sequence->kv_len};
    BlockPanels<T> panels;
    if (per_query) {
      const std::int64_t thread = parallel_thread_index(), slots = memory.tile.slots;
      panels.k = memory.k.data() + thread * slots * shape.k_elements();
      panels.v = memory.v.data() + thread * slots * shape.v_elements();
      panels.scratch = memory.scratch.data() + thread * shape.keys * shape.dim_k;
    } else {
      panels.packed = &packed[head];
    }
    attend_query_tile(args, tensors, task, panels, shape, source, memory.tile);
  }
};

template <class T>
void run(const LaunchArgs& args, const SelectedTensors& tensors,
         std::span<const Sequence> sequences) {
  const Problem& p = args.problem;
  const bool per_query = packs_per_query(p, sequences);
  const std::int64_t step = per_query ? 1 : tile_of(args.point);
  Launch<T> launch{args,           tensors,
                   block_shape(p), layout_memory<T>(args.workspace, p, sequences, step, per_query),
                   per_query,      {}};
  if (!per_query) {
    std::vector<PackRequest> requests;
    for (const Sequence& s : sequences) {
      for (std::int64_t g = 0; g < p.kv_heads; ++g) {
        requests.push_back({{tensors.kv.k, tensors.kv.v, g, s.kv_begin, s.kv_len}, 0, s.kv_len});
      }
    }
    launch.packed = pack_heads<T>(requests, launch.shape, launch.memory.packed, false);
  }
  // Tiles of one head follow each other, so that its K and V stay in L2.
  std::vector<std::int64_t> begins{0};
  for (const Sequence& s : sequences) {
    begins.push_back(begins.back() + (s.q_len + step - 1) / step * p.kv_heads);
  }
  const std::int64_t all = begins.back();
  const std::int64_t grain = std::clamp<std::int64_t>(all / (8 * parallel_threads()), 1,
                                                      std::max<std::int64_t>(1, 16 / step));
  parallel_for(0, all, grain, [&](std::int64_t from, std::int64_t to) {
    auto b = static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), from) -
                                      begins.begin() - 1);
    for (std::int64_t i = from; i < to; ++i) {
      while (i >= begins[b + 1]) ++b;
      const Sequence& s = sequences[b];
      const std::int64_t tiles = (s.q_len + step - 1) / step, local = i - begins[b];
      const std::int64_t token = local % tiles * step, head = local / tiles;
      launch.attend({&s, head, token, std::min(step, s.q_len - token)},
                    b * static_cast<std::size_t>(p.kv_heads) + static_cast<std::size_t>(head));
    }
  });
}

}  // namespace

void fused_query(const LaunchArgs& args, const SelectedTensors& tensors,
                 std::span<const Sequence> sequences) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, tensors, sequences); });
}

namespace {

std::int64_t bytes(const Problem& problem, bool per_query) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, problem, sequences, per_query ? 1 : kLargestQueryTile, per_query);
    return counter.bytes();
  });
}

}  // namespace

std::int64_t fused_query_bytes_at_most(const Problem& problem) {
  return std::max(bytes(problem, true), bytes(problem, false));
}

void selected_fused_query(const LaunchArgs& args) {
  fused_query(args, SelectedTensors::of(args), args.sequences);
}

std::int64_t selected_fused_query_bytes(const Problem& problem) {
  return bytes(problem, packs_per_query(problem, sequences_of(problem)));
}

}  // namespace nsa::cpu
