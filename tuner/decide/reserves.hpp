// Workspace sizes to allocate ahead, from what was needed while measuring.
#pragma once

#include "groups.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

/// The largest need of the class, cut to a quarter of the device's memory and to the limits that
/// the users' names have (rows 1e6 and tokens 1e8; packed rows 1e5 of 1e4 tokens).
Reserves reserves_of(const ClassRows& rows, const Device& device);

}  // namespace nsa::tuner
