// Which contest a measurement belongs to.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// Hash of a problem and the stages that its variants cover.
std::string contest_id(const Problem& problem, const std::vector<std::string>& stages);
/// What problems that differ in their lengths alone have in common.
std::string class_text(const Problem& problem);

}  // namespace nsa::tuner
