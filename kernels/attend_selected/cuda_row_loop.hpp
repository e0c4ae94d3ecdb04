// `ranges`: the slow path of the seeds (_sdpa_over_ranges), kept because guarding against it is the
// point: a host loop over rows, each with a wait for the device, copies and a launch of its own.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

void attend_row_by_row(const LaunchArgs& args);

}  // namespace nsa::cuda
