// What needs the CUDA toolkit, in a build without it.
#include "cuda/device.hpp"
#include "cuda/event_timer.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

CudaDevices cuda_devices() {
  return {{}, "this program was built without CUDA (NSA_CUDA=OFF, or no toolkit was found)", ""};
}

std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer, CUstream_st*,
                                             std::optional<std::uint64_t>) {
  throw EnvironmentError("device " + device.id + ": " + cuda_devices().reason);
}

std::unique_ptr<GraphReplay> capture_graph(const Device& device, CUstream_st*, void (*)(void*),
                                           void*) {
  throw NotCapturable("graph launches need a CUDA device, not " + device.id);
}

}  // namespace nsa::probes
