// Workspace sizes to allocate ahead, from what was needed while measuring.
#pragma once

#include <string>

#include "decide/ratios/groups.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

struct DecidedReserves {
  Reserves reserves;
  ReserveGains gains;
};

/// What is worth being reserved for the variants of a class that pack rows. A path gets a reserve
/// where the first launches of a variant with one were faster than those of the same variant that
/// had to grow its workspace: on two problems at least, three quarters of them, by 5 % of a launch
/// in the middle. It is the largest need that was seen, cut to a quarter of the device's memory and
/// to the limits that the users' names have (rows 1e6 and tokens 1e8; packed rows 1e5 of 1e4
/// tokens).
DecidedReserves reserves_of(const ClassRows& rows, const Device& device);

/// "0.9 ms of a first launch, 0.9 times what a launch takes, faster on 2 of 2 problems; measured at
/// seq_len 1024 to 4096"
std::string describe(const ReserveGain& gain);

}  // namespace nsa::tuner
