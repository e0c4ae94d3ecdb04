// Timers of a CUDA device. Two files: one built with the toolkit, one without.
#pragma once

#include <cstdint>
#include <memory>

#include "nsa/probes/probes.hpp"

namespace nsa::probes {

/// The stream is held until the launch call has returned, so that the latency of its first launch
/// is not counted as device time; longer host work (a launch per row, a wait for the device) is
/// what such a variant costs, so the hold ends after this time and the rest is seen.
inline constexpr std::uint64_t kHoldNs = 20'000;

/// `timer` is events or host; host holds nothing. Makes the device current for the calling thread.
std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer timer, CUstream_st* stream,
                                             std::uint64_t hold_ns = kHoldNs);

/// Device time of a sample: the union of its kernels, copies and sets as CUPTI stamps them; host
/// time and cycles as the timer by events has them. EnvironmentError where CUPTI is not usable.
std::unique_ptr<LaunchTimer> make_cupti_timer(const Device& device, CUstream_st* stream);

}  // namespace nsa::probes
