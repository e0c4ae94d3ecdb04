#include "nsa/probes/launch_counters.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

struct CounterSession::State {};

CounterSession::CounterSession(const Device& device, CUstream_st*) {
  if (device.backend != Backend::cuda)
    throw InputError("hardware counters are read through CUPTI, which " + device.id + " has not");
  throw EnvironmentError(
      "hardware counters: this build has no range profiler: the toolkit had no "
      "cupti_range_profiler.h");
}
CounterSession::~CounterSession() = default;
LaunchCounters CounterSession::read(bool, void (*)(void*), void*) { return {}; }

}  // namespace nsa::probes
