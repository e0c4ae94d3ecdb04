// Keep what is shipped unless a change surely pays.
#pragma once

#include <optional>
#include <string>

#include "choose_table.hpp"

namespace nsa::tuner {

/// What the shipped decision chooses at each spot.
struct Shipped {
  Table table;           // where it cannot be followed: the variant of the fallback
  bool followed = true;  // false: somewhere it names a variant that may not be chosen here
};
/// Reads the shipped decision at the spots. `fallback` stands in where it says nothing, or its
/// variant was not measured or is not usable. Nothing when there is none or its axis is another
/// one.
std::optional<Shipped> read_shipped(const Decision* shipped, const Group& group,
                                    const std::vector<SpotRatios>& spots, const Table& fallback);

/// True when the lower 95 % bound of the gain, averaged over the spots where both differ, is above
/// epsilon.
bool change_pays(const std::vector<SpotRatios>& spots, const Table& shipped, const Table& now,
                 double epsilon);

}  // namespace nsa::tuner
