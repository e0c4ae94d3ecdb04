// masked: dense attention over all keys so far, with a mask made from the ranges: O(S^2) work.
// kv_expanded: the same with K and V copied per query head (repeat_interleave), as the users'
// program has it.
#include <vector>

#include "attend_selected/cpu/spans.hpp"
#include "cpu/flash_tile.hpp"
#include "operands/attend.hpp"

namespace nsa::cpu {
namespace {

/// How heads share K and V: `copies` packed heads per KV head, each for `heads` query heads.
struct Sharing {
  std::int64_t copies, heads;
};
Sharing by_group(const Problem& p) { return {1, p.heads_per_group()}; }
Sharing expanded(const Problem& p) { return {p.heads_per_group(), 1}; }

template <class T>
struct Memory {
  PackedMemory<T> packed;
  TileMemory<T> tile;
  std::span<TokenSpan> spans;        // per thread [sel_count]
  std::span<std::uint64_t> allowed;  // per thread [tokens, panels] one bit per key
  std::int64_t allowed_size = 0;
};

template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& p, std::span<const Sequence> sequences,
                        Sharing sharing) {
  const PanelShape shape{kPanelKeys, p.head_dim_k, p.head_dim_v};
  std::int64_t panels = 0, longest = 0;
  for (const Sequence& s : sequences) {
    const std::int64_t own = panels_of(0, s.kv_len, kPanelKeys);
    panels += own;
    longest = std::max(longest, own);
  }
  const std::int64_t tokens = tile_tokens(sharing.heads);
  Memory<T> m;
  m.packed = PackedMemory<T>::layout(taker, shape, panels * p.kv_heads * sharing.copies);
  m.tile = TileMemory<T>::layout(taker, tokens * sharing.heads, shape);
  m.spans = taker.template take<TokenSpan>(parallel_threads() * p.geometry.sel_count);
  m.allowed_size = tokens * longest;
  m.allowed = taker.template take<std::uint64_t>(parallel_threads() * m.allowed_size);
  return m;
}

/// Mask of a tile: allowed[token, panel], from the ranges of its tokens.
void fill_mask(const TensorView& ranges, const Sequence& s, std::int64_t kv_head,
               std::int64_t first_token, std::int64_t tokens, std::int64_t panels, TokenSpan* spans,
               std::uint64_t* allowed) {
  std::fill_n(allowed, tokens * panels, std::uint64_t{0});
  for (std::int64_t i = 0; i < tokens; ++i) {
    const std::int64_t token = first_token + i;
    const std::int64_t count =
        row_spans(ranges, s.q_begin + token, kv_head, s.first_position() + token, spans);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t panel = spans[r].begin / kPanelKeys; panel * kPanelKeys < spans[r].end;
           ++panel) {
        allowed[i * panels + panel] |= span_bits(spans[r].begin, spans[r].end, panel * kPanelKeys);
      }
    }
  }
}

template <class T>
struct Launch {
  const LaunchArgs& args;
  SelectedTensors tensors;
  Sharing sharing;
  Memory<T> memory;
  std::vector<PackedHead<T>> packed;  // [sequences, kv_heads * copies]

  void tile(std::size_t sequence, std::int64_t head, std::int64_t token) const;
};

template <class T>
void Launch<T>::tile(std::size_t sequence, std::int64_t head, std::int64_t token) const {
  const Sequence& s = args.sequences[sequence];
  const std::int64_t all_heads = args.problem.kv_heads * sharing.copies;
  TileTask<T> task{tensors.q, tensors.o, tensors.lse};
  task.kv =
      &packed[sequence * static_cast<std::size_t>(all_heads) + static_cast<std::size_t>(head)];
  task.q_row = s.q_begin + token;
  task.tokens = task.real_tokens = std::min(tile_tokens(sharing.heads), s.q_len - token);
  task.first_head = head * sharing.heads;
  task.heads = sharing.heads;
  task.panel_end = panels_of(0, s.first_position() + token + task.tokens, kPanelKeys);
  task.skip = false;
  const std::int64_t thread = parallel_thread_index(), panels = task.panel_end;
  std::uint64_t* allowed = memory.allowed.data() + thread * memory.allowed_size;
  fill_mask(tensors.ranges, s, head / sharing.copies, token, task.tokens, panels,
            memory.spans.data() + thread * args.problem.geometry.sel_count, allowed);
  flash_tile<T>(task, memory.tile, [&](std::int64_t panel, std::uint64_t* bits) {
    for (std::int64_t i = 0; i < task.tokens; ++i) bits[i] = allowed[i * panels + panel];
  });
}

template <class T>
void run(const LaunchArgs& args, Sharing sharing) {
  const Problem& p = args.problem;
  Launch<T> launch{args,
                   SelectedTensors::of(args),
                   sharing,
                   layout_memory<T>(args.workspace, p, args.sequences, sharing),
                   {}};
  std::vector<PackRequest> requests;
  for (const Sequence& s : args.sequences) {
    for (std::int64_t h = 0; h < p.kv_heads * sharing.copies; ++h) {
      const KvHead source{launch.tensors.kv.k, launch.tensors.kv.v, h / sharing.copies, s.kv_begin,
                          s.kv_len};
      requests.push_back({source, 0, s.kv_len});
    }
  }
  const PanelShape shape{kPanelKeys, p.head_dim_k, p.head_dim_v};
  launch.packed = pack_heads<T>(requests, shape, launch.memory.packed, true);
  const std::int64_t step = tile_tokens(sharing.heads), heads = p.kv_heads * sharing.copies;
  for (std::size_t b = 0; b < args.sequences.size(); ++b) {
    const std::int64_t tiles = (args.sequences[b].q_len + step - 1) / step;
    // Late tiles have most keys and go first.
    parallel_for(0, tiles * heads, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        launch.tile(b, i % heads, (tiles - 1 - i / heads) * step);
      }
    });
  }
}

std::int64_t bytes(const Problem& p, Sharing sharing) {
  const std::vector<Sequence> sequences = sequences_of(p);
  return with_compute_type(p.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, p, sequences, sharing);
    return counter.bytes();
  });
}

}  // namespace

void selected_masked(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, by_group(args.problem)); });
}
void selected_kv_expanded(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, expanded(args.problem)); });
}
std::int64_t selected_masked_bytes(const Problem& p) { return bytes(p, by_group(p)); }
std::int64_t selected_kv_expanded_bytes(const Problem& p) { return bytes(p, expanded(p)); }

}  // namespace nsa::cpu
