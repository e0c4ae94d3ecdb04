// The rows of the table, a function for each.
#pragma once

#include "nsa/tuner/project.hpp"

namespace nsa::tuner {

/// The public research code that most NSA_* names come from.
Project nsa_vibe();
std::vector<ProjectRoute> nsa_vibe_route(const EnvSnapshot& environment, const Problem& problem,
                                         const Device& device);
std::vector<std::string> nsa_vibe_complete(ProjectValues& values, Phase phase,
                                           const Device& device);
/// Why FlashAttention-2 of nsa-vibe cannot take such problems, or "".
std::string_view nsa_vibe_refuses_fa2(const ProblemClass& of, const Device& device);

}  // namespace nsa::tuner
