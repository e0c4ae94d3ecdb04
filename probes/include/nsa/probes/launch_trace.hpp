// What one launch did, out of the activity around it.
#pragma once

#include <string>

#include "nsa/probes/activity.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/launch_trace.hpp"

struct CUstream_st;

namespace nsa::probes {

/// Union of all kernels, copies and sets that began at `from_ns` or later, in nanoseconds. Those of
/// our own timers (stamps, holds) do not count.
std::int64_t busy_ns(const ActivityTrace& activity, std::int64_t from_ns);

/// The operations that began at `from_ns` or later, and the calls made in [from_ns, until_ns).
LaunchTrace launch_trace(const ActivityTrace& activity, std::int64_t from_ns,
                         std::int64_t until_ns);

/// A line where two times of the same launch, of more than 50 us, differ by more than 2 %; else
/// empty. Both from its first start to its last end.
std::string timer_disagreement(double cupti_ns, double events_ns);

/// Launches a few times under CUPTI: once for what it does, `samples` times for what either timer
/// says. Opens and ends a session of its own, unless this process has a CUPTI timer.
LaunchTrace trace_launch(const Device& device, CUstream_st* stream, int samples,
                         void (*launch)(void*), void* context);

}  // namespace nsa::probes
