// What runs between two measured lengths where a variant of one cannot run at the other.
#pragma once

#include <vector>

#include "place.hpp"

namespace nsa::tuner {

/// A variant that stops running (out of memory, a crash, a refusal) leaves its side of the gap to
/// those that were seen to run at both lengths: from each side the fastest there. Nothing where the
/// variants of both segments run at both lengths, where one of them is that fastest, or where
/// nobody runs at both. The segments hold the points of both lengths and take their turns from the
/// left to the right.
std::vector<Segment> bridge(const std::vector<LengthRatios>& points, const Segment& left,
                            const Segment& right);

}  // namespace nsa::tuner
