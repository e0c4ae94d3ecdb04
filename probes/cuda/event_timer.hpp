// Timers of a CUDA device. Two files: one built with the toolkit, one without.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "nsa/probes/probes.hpp"

namespace nsa::probes {

/// The stream is held until the launch call has returned, so that the latency of its launches is
/// not counted as device time; longer host work (a launch per row, a wait for the device) is what
/// such a variant costs, so the hold ends after the time of about that many launches of this host,
/// and the rest is seen. By the host's own pace: a fixed time hid the launches of a fast host, and
/// on one of half its speed a product and the kernel after it took 21 us instead of 14.
inline constexpr int kHoldLaunches = 9;
inline constexpr std::uint64_t kLeastHoldNs = 20'000;  // 9 launches of a fast host
inline constexpr std::uint64_t kMostHoldNs = 100'000;

/// `timer` is events or host; host holds nothing. Makes the device current for the calling thread.
/// Without `hold_ns` the hold is as long as kHoldLaunches take, which is measured here.
std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer timer, CUstream_st* stream,
                                             std::optional<std::uint64_t> hold_ns = std::nullopt);

/// Device time of a sample: the union of its kernels, copies and sets as CUPTI stamps them; host
/// time and cycles as the timer by events has them. EnvironmentError where CUPTI is not usable.
std::unique_ptr<LaunchTimer> make_cupti_timer(const Device& device, CUstream_st* stream);

}  // namespace nsa::probes
