// Which contest a measurement belongs to.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// Hash of a problem, of the stages that its variants cover, and of how they are launched.
std::string contest_id(const Problem& problem, const std::vector<std::string>& stages,
                       LaunchMode launch);
/// What problems that differ in their lengths alone have in common.
std::string class_text(const Problem& problem);

}  // namespace nsa::tuner
