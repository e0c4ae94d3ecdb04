#include "break_even.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "statistics.hpp"

namespace nsa::tuner {
namespace {

/// log(best NSA / yardstick) at each length, mean over its problems.
std::map<std::int64_t, double> against_dense(const std::vector<SpotRatios>& spots,
                                             std::size_t yardstick) {
  std::map<std::int64_t, std::vector<double>> found;
  for (const SpotRatios& spot : spots) {
    // excess is against the best usable variant, which is the NSA plan that would run
    if (spot.known[yardstick]) found[spot.at].push_back(-spot.excess[yardstick]);
  }
  std::map<std::int64_t, double> result;
  for (const auto& [at, logs] : found) {
    double sum = 0;
    for (const double value : logs) sum += value;
    result[at] = sum / static_cast<double>(logs.size());
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

std::optional<std::size_t> yardstick_of(const Group& group, const DecideInput& input) {
  for (const VariantTraits& traits : input.variants) {
    if (!traits.yardstick) continue;
    const auto found = std::find(group.variants.begin(), group.variants.end(), traits.id);
    if (found != group.variants.end()) {
      return static_cast<std::size_t>(found - group.variants.begin());
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<DenseBreakEven> break_even(const Group& group, const DecideInput& input) {
  const std::optional<std::size_t> yardstick = yardstick_of(group, input);
  if (group.stages != std::vector<std::string>{"attention"} || !yardstick) return std::nullopt;
  DecideOptions options = input.options;
  options.bootstrap = 0;  // only the estimates are asked for
  const auto logs = against_dense(estimate(group, options), *yardstick);
  if (logs.empty()) return std::nullopt;
  DenseBreakEven found;
  found.from = last_crossing(logs);
  found.axis = group.axis;
  found.yardstick = to_string(group.variants[*yardstick]);
  found.largest = logs.rbegin()->first;
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
                     found.largest, found.ratio_at_largest, found.yardstick);
}

}  // namespace nsa::tuner
