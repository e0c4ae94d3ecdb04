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
/// Sets the runner-up of `evidence` to variant `other`, and the ratio of segment.variant to it over
/// the points of the segment, with its interval where the rounds tell one.
void add_ratio(const Group& group, const std::vector<LengthRatios>& points, const Segment& segment,
               std::size_t other, Evidence& evidence);
/// Why nothing that was measured decides for segment.variant: noise as large as what is at stake.
/// "" = it does.
std::string doubt_of(const Group& group, const std::vector<LengthRatios>& points,
                     const Segment& segment, const DecideOptions& options);
/// Source hash of the newest row of the variant in that segment.
std::string source_hash_of(const Group& group, const std::vector<LengthRatios>& points,
                           const Segment& segment);

}  // namespace nsa::tuner
