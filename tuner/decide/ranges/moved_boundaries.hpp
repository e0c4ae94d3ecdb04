// Boundaries that noise alone would move stay where they are shipped.
#pragma once

#include "place.hpp"

namespace nsa::tuner {

/// Whether a boundary that is `shipped` as the start of a range, and that today's lengths put to
/// `now`, may be where it was all the same: now lies in the interval that it was shipped with, or
/// the shipped place in today's. An interval that is not known says nothing.
bool may_be_where_it_was(const ThresholdRange& shipped, std::int64_t now,
                         const std::optional<BoundaryInterval>& today);

/// `now`, but where it only moves a boundary between the same two ranges that may be where it was:
/// there it is `before`, the shipped choice, unless the lengths in between surely lose more than
/// 1 % by that (one-sided, 95 %). `shipped` is the decision that `before` was read from.
Assignment without_idle_moves(const std::vector<LengthRatios>& points, const Decision& shipped,
                              const Assignment& before, const Assignment& now);

}  // namespace nsa::tuner
