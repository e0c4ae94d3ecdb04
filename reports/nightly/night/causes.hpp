// What moved a level, if it was not the code.
#pragma once

#include <cstdint>
#include <vector>

#include "series/examine.hpp"

namespace nsa::nightly {

/// What the series itself says: the same machine code before and after, or cycles that stood still
/// while time moved.
void explain_by_itself(Examined& examined);

/// What the other series of a device say: its canary moved with it, or more than half of the series
/// (of four or more) did, each by half as much at least where both are judged by ratios. Series
/// without a device are by themselves.
void explain_by_device(std::vector<Examined>& all);

}  // namespace nsa::nightly
