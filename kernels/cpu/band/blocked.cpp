#include <vector>

#include "cpu/band/launch.hpp"
#include "cpu/flash_tile.hpp"

namespace nsa::cpu {
namespace {

/// A sequence as it is worked on: as it is, or padded at its end to the longest of the batch.
struct Extent {
  std::int64_t first_position = 0, q_len = 0;
  KeyRun keys;  // of all its queries together
};

std::vector<Extent> extents_of(std::span<const Sequence> sequences, const Band& band,
                               Layout layout) {
  std::int64_t longest_q = 0;
  for (const Sequence& s : sequences) longest_q = std::max(longest_q, s.q_len);
  std::vector<Extent> extents;
  for (const Sequence& s : sequences) {
    const std::int64_t first = s.first_position();
    const std::int64_t q_len = layout == Layout::dense ? longest_q : s.q_len;
    const std::int64_t last = std::max(first, first + q_len - 1);
    extents.push_back({first, q_len, {band.keys_of(first).begin, band.keys_of(last).end}});
  }
  return extents;
}

template <class T>
struct Memory {
  PackedMemory<T> packed;
  TileMemory<T> tile;
};

template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& problem, std::span<const Extent> extents) {
  const PanelShape shape{kPanelKeys, problem.head_dim_k, problem.head_dim_v};
  const std::int64_t heads = problem.heads_per_group();
  std::int64_t panels = 0;
  for (const Extent& e : extents) {
    panels += problem.kv_heads * panels_of(e.keys.begin, e.keys.end, shape.keys);
  }
  return {PackedMemory<T>::layout(taker, shape, panels),
          TileMemory<T>::layout(taker, tile_tokens(heads) * heads, shape)};
}

struct Item {
  std::size_t sequence;
  std::int64_t kv_head, first_token;
};

std::vector<Item> items_of(std::span<const Extent> extents, std::int64_t kv_heads,
                           std::int64_t step) {
  std::vector<Item> items;
  for (std::size_t b = 0; b < extents.size(); ++b) {
    for (std::int64_t g = 0; g < kv_heads; ++g) {
      for (std::int64_t i = 0; i < extents[b].q_len; i += step) items.push_back({b, g, i});
    }
  }
  return items;
}

template <class T>
void run(const LaunchArgs& args, const Band& band, const BandTensors& tensors, Layout layout) {
  const Problem& p = args.problem;
  const std::vector<Extent> extents = extents_of(args.sequences, band, layout);
  const Memory<T> memory = layout_memory<T>(args.workspace, p, extents);
  std::vector<PackRequest> requests;
  for (std::size_t b = 0; b < extents.size(); ++b) {
    const Sequence& s = args.sequences[b];
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      requests.push_back({{tensors.kv.k, tensors.kv.v, g, band.key_begin(s), band.key_len(s)},
                          extents[b].keys.begin,
                          extents[b].keys.end});
    }
  }
  const PanelShape shape{kPanelKeys, p.head_dim_k, p.head_dim_v};
  const auto packed = pack_heads<T>(requests, shape, memory.packed, true);
  const std::int64_t heads = p.heads_per_group(), step = tile_tokens(heads);
  const std::vector<Item> items = items_of(extents, p.kv_heads, step);
  const auto one = [&](const Item& item) {
    const Sequence& s = args.sequences[item.sequence];
    const Extent& e = extents[item.sequence];
    const std::int64_t t0 = e.first_position + item.first_token;
    TileTask<T> task{tensors.q, tensors.o, tensors.lse};
    task.kv = &packed[item.sequence * static_cast<std::size_t>(p.kv_heads) +
                      static_cast<std::size_t>(item.kv_head)];
    task.q_row = s.q_begin + item.first_token;
    task.tokens = std::min(step, e.q_len - item.first_token);
    task.real_tokens = std::clamp<std::int64_t>(s.q_len - item.first_token, 0, task.tokens);
    task.first_head = item.kv_head * heads;
    task.heads = heads;
    const KeyRun keys{band.keys_of(t0).begin, band.keys_of(t0 + task.tokens - 1).end};
    task.panel_begin = keys.begin / kPanelKeys;
    task.panel_end =
        keys.end <= keys.begin ? task.panel_begin : (keys.end + kPanelKeys - 1) / kPanelKeys;
    flash_tile<T>(task, memory.tile, [&](std::int64_t panel, std::uint64_t* bits) {
      for (std::int64_t i = 0; i < task.tokens; ++i) {
        const KeyRun run = band.keys_of(t0 + i);
        bits[i] = span_bits(run.begin, run.end, panel * kPanelKeys);
      }
    });
  };
  // Late tiles see most keys: they go first, so that no thread is left with them at the end.
  const auto count = static_cast<std::int64_t>(items.size());
  parallel_for(0, count, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) one(items[static_cast<std::size_t>(count - 1 - i)]);
  });
}

}  // namespace

void band_blocked(const LaunchArgs& args, const Band& band, const BandTensors& tensors,
                  Layout layout) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, band, tensors, layout); });
}

std::int64_t band_blocked_bytes(const Problem& problem, std::span<const Sequence> sequences,
                                const Band& band, Layout layout) {
  const std::vector<Extent> extents = extents_of(sequences, band, layout);
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, problem, extents);
    return counter.bytes();
  });
}

template <BandKind kKind, Layout kLayout>
void launch_band_blocked(const LaunchArgs& args) {
  band_blocked(args, {kKind, args.problem.geometry}, BandTensors::of(args, branch_of(kKind)),
               kLayout);
}

template <BandKind kKind, Layout kLayout>
std::int64_t launch_band_blocked_bytes(const Problem& problem) {
  return band_blocked_bytes(problem, sequences_of(problem), {kKind, problem.geometry}, kLayout);
}

template void launch_band_blocked<BandKind::window, Layout::varlen>(const LaunchArgs&);
template void launch_band_blocked<BandKind::window, Layout::dense>(const LaunchArgs&);
template void launch_band_blocked<BandKind::compressed, Layout::varlen>(const LaunchArgs&);
template void launch_band_blocked<BandKind::compressed, Layout::dense>(const LaunchArgs&);
template std::int64_t launch_band_blocked_bytes<BandKind::window, Layout::varlen>(const Problem&);
template std::int64_t launch_band_blocked_bytes<BandKind::window, Layout::dense>(const Problem&);
template std::int64_t launch_band_blocked_bytes<BandKind::compressed, Layout::varlen>(
    const Problem&);
template std::int64_t launch_band_blocked_bytes<BandKind::compressed, Layout::dense>(
    const Problem&);

}  // namespace nsa::cpu
