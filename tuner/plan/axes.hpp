// The axes of a sweep: which field of a problem each name sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// Names of all axes, sorted.
std::vector<std::string> axis_names();
/// Value of `problem` on an axis, in the form in which set_axis takes it.
std::string axis_text(const Problem& problem, std::string_view axis);

}  // namespace nsa::tuner
