// Variants at lengths where no run asked for them: what the lengths on both sides say of them.
#pragma once

#include <vector>

#include "groups.hpp"
#include "ratios.hpp"

namespace nsa::tuner {

/// Fills LengthPoint::unasked of the points that decide: a run that has rows of a variant leaves
/// it out elsewhere because it cannot run or is slow there; one without any never asked.
void mark_unasked(Group& group);

/// Gives variants an estimate at points where they were not asked, if they ran at the nearest
/// lengths on both sides where they were: a straight line between those, on logarithmic axes, of
/// the ratio to a variant that all three points have; of the plain times where there is none. Its
/// noise is that of both, and of what curves between lengths may do. `estimates` are those of
/// `points`, ascending by axis value.
void interpolate_unasked(const std::vector<LengthPoint>& points, std::uint64_t seed,
                         std::vector<LengthRatios>& estimates);

}  // namespace nsa::tuner
