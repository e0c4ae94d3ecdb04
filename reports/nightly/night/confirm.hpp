// Old and new builds, measured again side by side.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace nsa::nightly {

/// Fewest pairs that say anything.
constexpr std::size_t kPairs = 5;

/// Paired one-sided t-test at 1 %, and at least half of what was found.
/// @param expected  new - old level that was found, in data
/// @param unit      of the data; on a log scale none
/// @return whether the change is there; nothing with fewer than kPairs pairs that are numbers
std::optional<bool> is_confirmed(std::span<const std::pair<double, double>> old_and_new,
                                 double expected, bool log_scale, double unit);

}  // namespace nsa::nightly
