// The last night against what the nights before it predict.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "nsa/nightly/judge.hpp"

namespace nsa::nightly {

/// A last night that one in a thousand nights without a change exceeds.
struct Surprise {
  double level = 0, datum = 0;  // of the nights before, and of the last
  double p = 1;
};

/// One-sided Student prediction interval of the last datum; two-sided for Better::both. A change
/// for the better is no surprise.
/// @param level     the current level, the last night at its end; needs `fewest` nights before it
/// @param least_sd  as in best_split
std::optional<Surprise> last_night(std::span<const double> level, double least_sd,
                                   std::size_t fewest, Better better);

}  // namespace nsa::nightly
