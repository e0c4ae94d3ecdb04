// Which contest a measurement belongs to.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// Hash of a problem and the stages that its variants cover.
std::string contest_id(const Problem& problem, const std::vector<std::string>& stages);

}  // namespace nsa::tuner
