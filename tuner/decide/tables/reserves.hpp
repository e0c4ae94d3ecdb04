// Workspace sizes to allocate ahead, from what was needed while measuring.
#pragma once

#include <string>
#include <vector>

#include "decide/ratios/groups.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

/// What is worth being reserved for the variants of a class that pack rows. A path gets a reserve
/// where the first launches of a variant with one were faster than those of the same variant that
/// had to grow its workspace: on two problems at least, three quarters of them, by 5 % of a launch
/// in the middle. It is the largest need that was seen, cut to a quarter of the device's memory and
/// to the limits that the users' names have (rows 1e6 and tokens 1e8; packed rows 1e5 of 1e4
/// tokens). A note says what each saves.
Reserves reserves_of(const ClassRows& rows, const Device& device, std::vector<std::string>& notes);

}  // namespace nsa::tuner
