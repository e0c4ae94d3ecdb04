// Timers of a CUDA device. Two files: one built with the toolkit, one without.
#pragma once

#include <memory>

#include "nsa/probes/probes.hpp"

namespace nsa::probes {

/// `timer` is events or host. Makes the device current for the calling thread.
std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer timer,
                                             CUstream_st* stream);

}  // namespace nsa::probes
