// The vectorised converter: whole arrays at a time, no branch per element. Run starts, a running
// count of them as the index of each run, then a scatter of starts and of the largest end.
#include <algorithm>

#include "nsa/kernels/parallel.hpp"
#include "operands/select.hpp"

namespace nsa::ranges {
namespace {

/// Scratch arrays of one thread, [sel_count] each.
struct Scratch {
  std::int32_t* id;   // ids that count, others -2: no neighbour of any block
  std::int32_t* run;  // index of the run that the element belongs to
};

/// ids -> runs; returns how many there are. Ids ascend, so what is invalid stands at the ends.
std::int32_t find_runs(const std::int32_t* blocks, std::int32_t n, std::int32_t blocks_visible,
                       const Scratch& scratch) {
  for (std::int32_t k = 0; k < n; ++k) {
    const bool counts = blocks[k] >= 0 && blocks[k] < blocks_visible;
    scratch.id[k] = counts ? blocks[k] : -2;
  }
  std::int32_t runs = 0, previous = -2;
  for (std::int32_t k = 0; k < n; ++k) {
    const std::int32_t step = scratch.id[k] - previous;
    runs += scratch.id[k] >= 0 && step != 0 && step != 1;
    scratch.run[k] = runs - 1;
    previous = scratch.id[k];
  }
  return runs;
}

/// starts: the first id of each run; ends: the largest, clamped to the query.
void scatter(const Geometry& g, std::int64_t position, const Scratch& scratch,
             std::int32_t* ranges) {
  const auto n = static_cast<std::int32_t>(g.sel_count);
  std::fill_n(ranges, 2 * n, 0);
  const auto width = static_cast<std::int32_t>(g.sel_block);
  const auto limit = static_cast<std::int32_t>(position + 1);
  for (std::int32_t k = n; k-- > 0;) {  // backwards, so that a run's first id is written last
    if (scratch.id[k] < 0) continue;
    std::int32_t* pair = ranges + 2 * scratch.run[k];
    const std::int32_t start = scratch.id[k] * width;
    pair[0] = start;
    pair[1] = std::max(pair[1], width < limit - start ? start + width : limit);
  }
}

}  // namespace

void v2(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const Problem& p = args.problem;
  const RangesTensors tensors = RangesTensors::of(args);
  const TensorView &blocks = tensors.blocks, &ranges = tensors.ranges;
  const std::int64_t n = p.geometry.sel_count;
  std::int32_t* all = args.workspace.take<std::int32_t>(2 * n * parallel_threads()).data();
  for (const Sequence& s : args.sequences) {
    parallel_for(0, s.q_len, 64, [&](std::int64_t from, std::int64_t to) {
      std::int32_t* own = all + 2 * n * parallel_thread_index();
      const Scratch scratch{own, own + n};
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t position = s.first_position() + i;
        const auto visible = static_cast<std::int32_t>(position / p.geometry.sel_block + 1);
        for (std::int64_t head = 0; head < p.kv_heads; ++head) {
          find_runs(blocks.as<const std::int32_t>() + blocks.at(s.q_begin + i, head),
                    static_cast<std::int32_t>(n), visible, scratch);
          scatter(p.geometry, position, scratch,
                  ranges.as<std::int32_t>() + ranges.at(s.q_begin + i, head));
        }
      }
    });
  }
}

std::int64_t v2_workspace(const Problem& p) {
  return 8 * p.geometry.sel_count * parallel_threads() + 4096;
}

}  // namespace nsa::ranges
