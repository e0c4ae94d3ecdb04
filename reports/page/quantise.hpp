// Numbers of a series as small whole numbers, so that a year of 360 series fits into a page.
#pragma once

#include <optional>
#include <vector>

#include "nsa/schemas/json.hpp"

namespace nsa::page {

/// What a plot needs of a night: nothing where it has no value.
struct NightValues {
  double low = 0, median = 0, high = 0;  // of the replicates
};

/// {quantum, median, below, above}: the median of a night is `quantum` times the sum of the entries
/// of `median` so far; below and above are whole numbers of quanta from it. null: no value.
/// The quantum is 1/20,000 of the typical value, or of the spread where values are not all
/// positive.
Json quantised(const std::vector<std::optional<NightValues>>& nights);

}  // namespace nsa::page
