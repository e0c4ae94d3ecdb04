// From the axis of a decision to what a project compares with its minimum.
#pragma once

#include "nsa/tuner/project.hpp"

namespace nsa::tuner {

/// Longer than any length, shorter than an overflow.
inline constexpr std::int64_t kFarLength = std::int64_t{1} << 40;

/// What the project compares where the axis has the value `at`, or nothing where the axis does not
/// tell. It never falls when `at` grows.
std::optional<std::int64_t> compared_length(Compared compared, Axis axis, std::int64_t at,
                                            const ProblemClass& of);

/// The smallest axis value at which the project compares `least` or more; nothing: none.
std::optional<std::int64_t> first_reaching(std::int64_t least, Compared compared, Axis axis,
                                           const ProblemClass& of);

/// The largest axis value that there is.
std::int64_t last_on(Axis axis, const ProblemClass& of);

}  // namespace nsa::tuner
