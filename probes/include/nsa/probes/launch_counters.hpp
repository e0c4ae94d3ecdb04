// What the hardware counts during one launch, read by CUPTI's range profiler.
#pragma once

#include <memory>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/launch_counters.hpp"

struct CUstream_st;

namespace nsa::probes {

/// Has the counters of one device from its construction to its end. Launches are slower meanwhile,
/// so nothing is timed beside it; nor is activity recorded (ActivitySession, Timer::cupti). One a
/// process, of one thread at a time.
class CounterSession {
 public:
  /// InputError on a device that is no GPU. EnvironmentError with the reason, and what helps, when
  /// the counters cannot be read: no CUPTI or no libnvperf_host, no privilege, counters in use.
  CounterSession(const Device& device, CUstream_st* stream);
  ~CounterSession();
  CounterSession(const CounterSession&) = delete;
  CounterSession& operator=(const CounterSession&) = delete;

  /// Calls `launch(context)` once to warm up, then once for each pass over the counters: one on all
  /// chips from Ampere on. Each enqueues the same work on the stream, whole: nothing is saved and
  /// restored between them. `cold`: before each pass the caches are filled with what is none of
  /// its data, and what was written before has left them. EnvironmentError when reading fails; what
  /// `launch` throws passes through. After either the session is of no more use.
  LaunchCounters read(bool cold, void (*launch)(void*), void* context);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nsa::probes
