#include "nsa/schemas/error.hpp"
#include "src/cuda_device.hpp"
#include "src/event_timer.hpp"

namespace nsa::probes {

std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer, CUstream_st*,
                                             std::uint64_t) {
  throw EnvironmentError("device " + device.id + ": " + cuda_devices().reason);
}

}  // namespace nsa::probes
