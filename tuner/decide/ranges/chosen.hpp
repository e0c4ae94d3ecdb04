// What runs at each measured length: chosen by its times, kept from what is shipped, or left alone.
#pragma once

#include <string>
#include <vector>

#include "hysteresis.hpp"
#include "place.hpp"

namespace nsa::tuner {

struct Chosen {
  Assignment assignment;
  std::vector<bool> undecided;  // of each point: nothing tells, so what was there stays there
  bool kept = false;            // the shipped ranges hold as they are
};
/// `judged`: the ratios with the margin of the options.
Chosen choose(const Group& group, const std::vector<LengthRatios>& judged, const Decision* shipped,
              const DecideOptions& options, std::vector<std::string>& notes);

/// Marks the points of each segment of the assignment that nothing tells of; what was there stays
/// there: the shipped choice, else the first of the built-in order.
void leave_undecided(const Group& group, const std::vector<LengthRatios>& points,
                     const Decision* shipped, const DecideOptions& options, Chosen& chosen);

/// The ratios that a choice is made by: an incumbent has the margin of the options.
std::vector<LengthRatios> judge(const Group& group, const std::vector<LengthRatios>& points,
                                const Decision* shipped, const DecideOptions& options);

}  // namespace nsa::tuner
