// The element loop: one block id after another, on one thread, with a growing list per row. This is
// the structure of the converter that users replace; ranges_v2 is what they replace it with.
#include <algorithm>
#include <utility>
#include <vector>

#include "operands/select.hpp"

namespace nsa::ranges {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

/// Ranges of one row, as a list that grows.
std::vector<Pair> convert_row(const LaunchArgs& args, const TensorView& blocks, const Sequence& s,
                              std::int64_t query, std::int64_t head) {
  const Geometry& g = args.problem.geometry;
  const std::int64_t position = s.first_position() + query;
  std::vector<Pair> pairs;
  std::int64_t last = -1;
  for (std::int64_t k = 0; k < g.sel_count; ++k) {
    const std::int64_t id = blocks.as<const std::int32_t>()[blocks.at(s.q_begin + query, head, k)];
    if (id < 0 || id >= num_blocks(s.kv_len, g) || id == last) continue;
    const std::int64_t start = id * g.sel_block;
    const std::int64_t end = std::min(start + g.sel_block, position + 1);
    if (end <= start) continue;
    last = id;
    if (!pairs.empty() && pairs.back().second == start) {
      pairs.back().second = end;
    } else {
      pairs.emplace_back(start, end);
    }
  }
  return pairs;
}

void write_row(const LaunchArgs& args, const TensorView& ranges, std::int64_t token,
               std::int64_t head, const std::vector<Pair>& pairs) {
  for (std::int64_t k = 0; k < args.problem.geometry.sel_count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Pair pair = i < pairs.size() ? pairs[i] : Pair{0, 0};
    ranges.as<std::int32_t>()[ranges.at(token, head, k, 0)] = static_cast<std::int32_t>(pair.first);
    ranges.as<std::int32_t>()[ranges.at(token, head, k, 1)] =
        static_cast<std::int32_t>(pair.second);
  }
}

}  // namespace

void v1(const LaunchArgs& args) {
  const auto [blocks, ranges] = RangesTensors::of(args);
  for (const Sequence& s : args.sequences) {
    for (std::int64_t query = 0; query < s.q_len; ++query) {
      for (std::int64_t head = 0; head < args.problem.kv_heads; ++head) {
        write_row(args, ranges, s.q_begin + query, head, convert_row(args, blocks, s, query, head));
      }
    }
  }
}

}  // namespace nsa::ranges
