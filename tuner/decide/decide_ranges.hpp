// The decision without its flat views, which are made of a second one.
#pragma once

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// As decide(), with empty flat views.
DecideReport decide_ranges(const DecideInput& input);

}  // namespace nsa::tuner
