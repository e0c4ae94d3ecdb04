// The launch function of rows that run one row for each of their stages.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// Each row at the point that it takes where nobody has measured.
void launch_in_turn(const LaunchArgs& args);

}  // namespace nsa
