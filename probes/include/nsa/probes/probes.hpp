// What can be observed on this machine: devices, capabilities, environment, clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/run.hpp"

struct CUstream_st;

namespace nsa::probes {

/// The CPU first, then every CUDA device that the driver shows. Never throws for what is absent.
std::vector<Device> devices();
/// The device of that id; EnvironmentError with the list of those that are here, and the reason why
/// CUDA is not usable, when it is not among them.
Device require_device(const std::string& id);
/// Ordinal of "cuda:3"; -1 for any other id.
int cuda_ordinal(const std::string& id);
/// Optional libraries of this machine and why each is usable or not.
std::vector<Capability> capabilities();
/// Environment fingerprint for `devices`.
Environment environment_fingerprint(const std::vector<Device>& devices);

/// Times one launch at a time on one device. The launch function must only enqueue (CUDA) or run
/// (CPU) the work; preparation and the cache flush are outside the timed region. A timer belongs to
/// the thread that launches.
class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;
  /// Empties the caches that the policy calls cold (L2 of a GPU, last-level cache of a CPU).
  virtual void flush_caches() = 0;
  /// One sample. `launch(context)` is called once.
  virtual Sample time(void (*launch)(void*), void* context) = 0;
  /// Clocks, power and throttle reasons now; what cannot be read is absent.
  virtual ClockReading clocks() = 0;
  /// What is worth saying of the samples since the last call, in one line; mostly nothing.
  virtual std::string take_note() { return {}; }
};
/// InputError when `timer` is not available on that device, with those that are; EnvironmentError
/// when the library that it needs is missing or held by another tool.
std::unique_ptr<LaunchTimer> make_timer(const Device& device, Timer timer, CUstream_st* stream);

}  // namespace nsa::probes
