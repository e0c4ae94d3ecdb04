// Selected blocks by pattern: each row known alone, distinct, sorted, with the forced blocks.
#include <algorithm>
#include <array>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/forced_blocks.hpp"

namespace nsa {
namespace {

/// In the smooth pattern each slot keeps its block for that many queries: 1 - 1/20 = 95 %.
constexpr std::int64_t kSmoothPeriod = 20;

std::uint32_t mix(std::uint64_t seed, std::uint64_t stream, std::uint64_t a, std::uint64_t b) {
  std::uint32_t hash = 0x9e3779b9u;
  for (const std::uint64_t word : {seed, stream, a, b}) {
    hash = fmix32(hash ^ static_cast<std::uint32_t>(word));
    hash = fmix32(hash + static_cast<std::uint32_t>(word >> 32) + 0x7f4a7c15u);
  }
  return hash;
}

/// `count` distinct numbers below `limit` (Floyd's sampling).
void random_picks(std::int64_t count, std::int64_t limit, std::uint64_t seed, std::uint64_t stream,
                  std::int64_t position, std::vector<std::int64_t>& picks) {
  for (std::int64_t last = limit - count; last < limit; ++last) {
    const auto draw =
        mix(seed, stream, static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(last));
    const std::int64_t pick = draw % static_cast<std::uint64_t>(last + 1);
    const bool taken = std::find(picks.begin(), picks.end(), pick) != picks.end();
    picks.push_back(taken ? last : pick);
  }
}

/// Slot s draws from the numbers that are s modulo `count`, so slots never meet, and draws anew
/// every kSmoothPeriod queries, each slot at another time.
void smooth_picks(std::int64_t count, std::int64_t position, const Geometry& g, std::uint64_t seed,
                  std::uint64_t stream, std::vector<std::int64_t>& picks) {
  for (std::int64_t slot = 0; slot < count; ++slot) {
    const auto s = static_cast<std::uint64_t>(slot);
    const std::int64_t phase = mix(seed, stream, s, 0x5107u) % kSmoothPeriod;
    const std::int64_t epoch = (position + phase) / kSmoothPeriod;
    // Candidates of the epoch's first query, so that the block is one for all its queries.
    const std::int64_t first = std::max<std::int64_t>(0, epoch * kSmoothPeriod - phase);
    const std::int64_t limit = std::max(count, first / g.sel_block - 2);
    const std::int64_t choices = (limit - slot - 1) / count + 1;
    const auto draw = mix(seed, stream, s, static_cast<std::uint64_t>(epoch));
    picks.push_back(slot +
                    count * static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(choices)));
  }
}

}  // namespace

void pattern_blocks(const Problem& problem, std::int64_t position, std::uint64_t stream,
                    std::uint64_t seed, std::int32_t* blocks) {
  const Geometry& g = problem.geometry;
  const ForcedBlocks forced = forced_blocks(position, g);
  const std::int64_t candidates = std::max<std::int64_t>(0, position / g.sel_block - 2);
  const std::int64_t count = std::min(g.sel_count - forced.count, candidates);
  std::vector<std::int64_t> picks;
  picks.reserve(static_cast<std::size_t>(g.sel_count));
  switch (problem.selection.pattern) {
    case SelectionPattern::random:
      random_picks(count, candidates, seed, stream, position, picks);
      break;
    case SelectionPattern::smooth:
      smooth_picks(count, position, g, seed, stream, picks);
      break;
    case SelectionPattern::recorded:
      throw InputError(
          "/selection/pattern: recorded blocks cannot be generated; give a file of inputs, or "
          "choose random or smooth");
  }
  for (std::int64_t& pick : picks) ++pick;  // candidates are blocks 1 .. cur - 2
  picks.insert(picks.end(), forced.ids.begin(), forced.ids.begin() + forced.count);
  std::sort(picks.begin(), picks.end());
  const auto unused = g.sel_count - static_cast<std::int64_t>(picks.size());
  std::fill_n(blocks, unused, -1);
  std::transform(picks.begin(), picks.end(), blocks + unused,
                 [](std::int64_t id) { return static_cast<std::int32_t>(id); });
}

std::optional<double> measured_overlap(const Problem& problem, const TensorView& blocks) {
  const std::int64_t n = problem.geometry.sel_count;
  const auto row_of = [&](std::int64_t token, std::int64_t head) {
    return std::span(blocks.as<const std::int32_t>() + blocks.at(token, head),
                     static_cast<std::size_t>(n));
  };
  std::int64_t chosen = 0, kept = 0;
  for (const Sequence& s : sequences_of(problem)) {
    for (std::int64_t i = 1; i < s.q_len; ++i) {
      const ForcedBlocks forced = forced_blocks(s.first_position() + i, problem.geometry);
      for (std::int64_t g = 0; g < problem.kv_heads; ++g) {
        const auto before = row_of(s.q_begin + i - 1, g);
        for (const std::int32_t id : row_of(s.q_begin + i, g)) {
          if (id < 0 || forced.contains(id)) continue;
          ++chosen;
          kept += std::find(before.begin(), before.end(), id) != before.end();
        }
      }
    }
  }
  if (chosen == 0) return std::nullopt;
  return static_cast<double>(kept) / static_cast<double>(chosen);
}

}  // namespace nsa
