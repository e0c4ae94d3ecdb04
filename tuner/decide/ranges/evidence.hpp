// Why a range was decided so.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/thresholds.hpp"
#include "place.hpp"

namespace nsa::tuner {

/// Evidence of choosing run.variant on the spots of the run, against the best other variant there.
Evidence evidence_of(const Group& group, const std::vector<SpotRatios>& spots, const Run& run,
                     const DecideOptions& options);
/// Why nothing that was measured decides for run.variant: noise as large as what is at stake.
/// "" = it does.
std::string doubt_of(const Group& group, const std::vector<SpotRatios>& spots, const Run& run,
                     const DecideOptions& options);
/// Source hash of the newest row of the variant in that run.
std::string source_hash_of(const Group& group, const std::vector<SpotRatios>& spots,
                           const Run& run);

}  // namespace nsa::tuner
