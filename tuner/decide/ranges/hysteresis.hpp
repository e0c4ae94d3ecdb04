// Keep what is shipped unless a change surely pays.
#pragma once

#include <optional>
#include <string>

#include "choose_assignment.hpp"

namespace nsa::tuner {

/// What the shipped decision chooses at each point.
struct Shipped {
  Assignment assignment;  // where it cannot be followed: the variant of the fallback
  bool followed = true;   // false: somewhere it names a variant that may not be chosen here
};
/// Reads the shipped decision at the points. `fallback` stands in where it says nothing, or its
/// variant was not measured or is not usable. Nothing when there is none or its axis is another
/// one.
std::optional<Shipped> read_shipped(const Decision* shipped, const Group& group,
                                    const std::vector<LengthRatios>& points,
                                    const Assignment& fallback);

/// True when the gain, averaged over the points where both differ by more than epsilon, is above
/// epsilon and its lower 95 % bound above 0.
bool change_pays(const std::vector<LengthRatios>& points, const Assignment& shipped,
                 const Assignment& now, double epsilon);

}  // namespace nsa::tuner
