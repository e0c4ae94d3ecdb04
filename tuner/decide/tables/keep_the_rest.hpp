// A sweep of a part changes what it measured and keeps the rest.
#pragma once

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// Adds the shipped decisions of classes and stages that nothing was measured for, as they are,
/// with the runs that they rest on. A note says how many.
void keep_the_rest(const DecideInput& input, DecideReport& report);

}  // namespace nsa::tuner
