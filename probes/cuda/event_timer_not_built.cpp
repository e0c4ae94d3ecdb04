#include "cuda/device.hpp"
#include "cuda/event_timer.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer, CUstream_st*,
                                             std::uint64_t) {
  throw EnvironmentError("device " + device.id + ": " + cuda_devices().reason);
}

}  // namespace nsa::probes
