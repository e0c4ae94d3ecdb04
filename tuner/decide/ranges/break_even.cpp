#include "break_even.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "decide/ratios/statistics.hpp"

namespace nsa::tuner {
namespace {

/// The fastest dense attention there.
std::optional<std::size_t> best_baseline(const LengthRatios& point,
                                         const std::vector<std::size_t>& baselines) {
  std::optional<std::size_t> best;
  for (const std::size_t y : baselines) {
    if (point.known[y] && (!best || point.excess[y] < point.excess[*best])) best = y;
  }
  return best;
}

/// The best NSA plan against the best dense attention, on one problem.
struct AgainstDense {
  std::int64_t at;
  double log_ratio;
  std::size_t baseline;
};
std::vector<AgainstDense> against_dense(const std::vector<LengthRatios>& points,
                                        const std::vector<std::size_t>& baselines) {
  std::vector<AgainstDense> found;
  for (const LengthRatios& point : points) {
    // excess is against the best usable variant, which is the NSA plan that would run
    if (const auto best = best_baseline(point, baselines))
      found.push_back({point.at, -point.excess[*best], *best});
  }
  return found;
}

/// Mean log ratio at each length.
std::map<std::int64_t, double> means_of(const std::vector<AgainstDense>& all) {
  std::map<std::int64_t, std::vector<double>> logs;
  for (const AgainstDense& one : all) logs[one.at].push_back(one.log_ratio);
  std::map<std::int64_t, double> result;
  for (const auto& [at, values] : logs) {
    double sum = 0;
    for (const double value : values) sum += value;
    result[at] = sum / static_cast<double>(values.size());
  }
  return result;
}

/// Where the ratio crosses 1 for the last time, interpolated on a log axis.
std::optional<std::int64_t> last_crossing(const std::map<std::int64_t, double>& logs) {
  if (logs.rbegin()->second >= 0) return std::nullopt;
  auto right = std::prev(logs.end());
  while (right != logs.begin() && std::prev(right)->second < 0) --right;
  if (right == logs.begin()) return 0;
  const auto left = std::prev(right);
  const double share = left->second / (left->second - right->second);
  const double at = std::lerp(log_axis(left->first), log_axis(right->first), share);
  return std::clamp(static_cast<std::int64_t>(std::ceil(std::exp(at) - 1e-9)), left->first + 1,
                    right->first);
}

std::vector<std::size_t> baselines_of(const Group& group, const DecideInput& input) {
  std::vector<std::size_t> found;
  for (const VariantTraits& traits : input.variants) {
    if (!traits.baseline) continue;
    const auto at = std::find(group.variants.begin(), group.variants.end(), traits.id);
    if (at != group.variants.end())
      found.push_back(static_cast<std::size_t>(at - group.variants.begin()));
  }
  return found;
}

}  // namespace

std::optional<DenseBreakEven> break_even(const Group& group, const DecideInput& input) {
  const std::vector<std::size_t> baselines = baselines_of(group, input);
  if (group.stages != std::vector<std::string>{"attention"} || baselines.empty())
    return std::nullopt;
  DecideOptions options = input.options;
  options.bootstrap = 0;  // only the estimates are asked for
  const std::vector<AgainstDense> all = against_dense(estimate(group.points, options), baselines);
  if (all.empty()) return std::nullopt;
  const auto logs = means_of(all);
  const AgainstDense& longest = *std::ranges::max_element(all, {}, &AgainstDense::at);
  DenseBreakEven found;
  found.from = last_crossing(logs);
  found.axis = group.axis;
  found.largest = longest.at;
  found.baseline = to_string(group.variants[longest.baseline]);
  found.ratio_at_largest = std::exp(logs.rbegin()->second);
  return found;
}

std::string describe(const DenseBreakEven& found) {
  const std::string axis(to_string(found.axis));
  const std::string where =
      !found.from        ? "never beats dense up to " + axis + ' ' + std::to_string(found.largest)
      : *found.from == 0 ? "beats dense at every measured length"
                         : "beats dense from " + axis + ' ' + std::to_string(*found.from) + " on";
  return fmt::format("attention: NSA {}; at {} it takes {:.3g} of the time of {}", where,
                     found.largest, found.ratio_at_largest, found.baseline);
}

}  // namespace nsa::tuner
