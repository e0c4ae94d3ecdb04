// Timer::cupti. Two files: one built with CUPTI's header, one without.
#pragma once

#include <memory>

#include "nsa/probes/probes.hpp"

namespace nsa::probes {

/// Device time of a sample: the union of its kernels, copies and sets as CUPTI stamps them; host
/// time and cycles as the timer by events has them. EnvironmentError where CUPTI is not usable.
std::unique_ptr<LaunchTimer> make_cupti_timer(const Device& device, CUstream_st* stream);

}  // namespace nsa::probes
