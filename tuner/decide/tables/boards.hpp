// What differs between boards of one model that were decided together.
#pragma once

#include <string>
#include <vector>

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// Adds to each range of the report's table, which was decided from the same rows, what differs
/// between the boards that measured it, where there are two or more: each board is decided anew
/// from its own times alone. Counts the ranges that could be compared, and those in dispute.
void add_boards(const DecideInput& input, DecideReport& report);

}  // namespace nsa::tuner
