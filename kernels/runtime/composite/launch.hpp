// Launch functions of the composites: a row runs by its plan.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa {

void launch_attention(const LaunchArgs& args);
void launch_layer(const LaunchArgs& args);
void launch_model(const LaunchArgs& args);

}  // namespace nsa
