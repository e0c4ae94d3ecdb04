// From what was chosen at each measured length to ranges with their evidence.
#pragma once

#include <vector>

#include "decide/ranges/chosen.hpp"

namespace nsa::tuner {

/// One side of a decision: the lengths that one list of ranges is made from.
struct Side {
  const Group& group;
  const std::vector<LengthRatios>& points;  // as measured
  const std::vector<LengthRatios>& judged;  // with the margin: boundaries lie on them
  const Chosen& chosen;
  const DecideOptions& options;
  // of the same problems: boundaries stay where they may be
  const std::vector<ThresholdRange>* shipped = nullptr;
};

std::vector<ThresholdRange> make_ranges(const Side& side);

/// A range with the evidence of its points; where it begins and ends is left to the caller.
ThresholdRange range_of(const Side& side, const Segment& segment);

/// Adds what the declared orders say of all lengths beyond `ranges`.
void extrapolate(const Side& side, std::size_t last_variant, std::vector<ThresholdRange>& ranges);

}  // namespace nsa::tuner
