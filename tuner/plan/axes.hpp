// Values on the axes of a sweep (nsa/schemas/fields/axes.hpp), as texts.
#pragma once

#include <string>
#include <string_view>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// Value of `problem` on an axis, in the form in which set_axis takes it.
std::string axis_text(const Problem& problem, std::string_view axis);

}  // namespace nsa::tuner
