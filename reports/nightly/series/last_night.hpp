// The last night against what the nights before it predict.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "nsa/nightly/judge.hpp"
#include "steps.hpp"

namespace nsa::nightly {

/// One-sided Student prediction interval of the last datum; two-sided for Better::both. A change
/// for the better is no surprise.
/// @param level     the current level, the last night at its end; needs `fewest` nights before it
/// @param least_sd  as in best_split
/// @return a step of that night alone, which one in a thousand nights without a change shows
std::optional<Step> surprising_night(std::span<const double> level, double least_sd,
                                     std::size_t fewest, Better better);

}  // namespace nsa::nightly
