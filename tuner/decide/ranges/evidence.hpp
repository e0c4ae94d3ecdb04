// Why a range was decided so.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/thresholds.hpp"
#include "place.hpp"

namespace nsa::tuner {

/// Evidence of choosing segment.variant on the points of the segment, against the best other
/// variant there.
Evidence evidence_of(const Group& group, const std::vector<LengthRatios>& points,
                     const Segment& segment, const DecideOptions& options);
/// Why nothing that was measured decides for segment.variant: noise as large as what is at stake.
/// "" = it does.
std::string doubt_of(const Group& group, const std::vector<LengthRatios>& points,
                     const Segment& segment, const DecideOptions& options);
/// Source hash of the newest row of the variant in that segment.
std::string source_hash_of(const Group& group, const std::vector<LengthRatios>& points,
                           const Segment& segment);

}  // namespace nsa::tuner
