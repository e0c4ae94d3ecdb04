// All that one stage of a project can be set to, with what it loses.
#pragma once

#include "settle.hpp"

namespace nsa::tuner {

/// A candidate for each setting whose paths were measured, with its best minimum: exact ones before
/// others, then by loss.
std::vector<SettledStage> candidates(const ProjectStage& stage, const Decision& decision,
                                     const std::vector<PathRange>& ranges,
                                     const std::vector<PathSpot>& spots, const ProblemClass& of);

}  // namespace nsa::tuner
