// Which class of a table serves a problem: exact, nearest bin, nearest shape.
#include <cmath>
#include <limits>

#include "table_index.hpp"

namespace nsa::routing {
namespace {

double octaves(std::int64_t a, std::int64_t b) noexcept {
  return std::abs(std::log2((static_cast<double>(a) + 1) / (static_cast<double>(b) + 1)));
}

/// 0 for the same shape; each factor of two in an extent adds one. Another dtype is far away: only
/// taken when no class of the same dtype is there.
double shape_distance(const ProblemClass& a, const ProblemClass& b) noexcept {
  constexpr double kOtherDtype = 1000;
  const Geometry &g = a.geometry, &h = b.geometry;
  return octaves(a.q_heads, b.q_heads) + octaves(a.kv_heads, b.kv_heads) +
         octaves(a.head_dim_k, b.head_dim_k) + octaves(a.head_dim_v, b.head_dim_v) +
         octaves(g.cmp_block, h.cmp_block) + octaves(g.cmp_stride, h.cmp_stride) +
         octaves(g.sel_block, h.sel_block) + octaves(g.sel_count, h.sel_count) +
         octaves(g.window, h.window) + (a.dtype == b.dtype ? 0 : kOtherDtype);
}

template <class Bin>
double bin_distance(Bin a, Bin b) noexcept {
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

/// The nearest class among those that `decides` accepts. The overlap matters more to the kernels
/// than the batch does; a shape matters more than both.
template <class Decides>
ClassFit nearest(const std::vector<ClassIndex>& classes, const ProblemClass& wanted,
                 const ClassKey& key, Decides decides) noexcept {
  constexpr double kShapeWeight = 1000, kOverlapWeight = 1.5;
  ClassFit best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const ProblemClass& c = classes[i].problem_class;
    if (c.direction != wanted.direction || c.phase != wanted.phase || !decides(classes[i])) {
      continue;
    }
    const auto index = static_cast<std::int16_t>(i);
    if (classes[i].key == key) return {index, Fit::exact};
    const double shape = shape_distance(c, wanted);
    const double distance = kShapeWeight * shape + bin_distance(c.batch_bin, wanted.batch_bin) +
                            kOverlapWeight * bin_distance(c.overlap_bin, wanted.overlap_bin);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = {index, shape == 0 ? Fit::nearest_bin : Fit::nearest_shape};
  }
  return best;
}

}  // namespace

ClassFit TableIndex::resolve(std::size_t slot, const ProblemClass& wanted,
                             const ClassKey& key) const noexcept {
  return nearest(classes, wanted, key,
                 [slot](const ClassIndex& c) { return !c.decisions[slot].ranges.empty(); });
}

ClassFit TableIndex::resolve_reserves(const ProblemClass& wanted,
                                      const ClassKey& key) const noexcept {
  return nearest(classes, wanted, key,
                 [](const ClassIndex& c) { return !(c.reserves == Reserves{}); });
}

}  // namespace nsa::routing
