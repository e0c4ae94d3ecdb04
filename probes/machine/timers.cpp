#include "cpu/device.hpp"
#include "cuda/event_timer.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {

std::unique_ptr<LaunchTimer> make_timer(const Device& device, Timer timer, CUstream_st* stream) {
  const bool cpu = device.backend == Backend::cpu;
  if (cpu && timer == Timer::host) return make_cpu_timer(device);
  if (!cpu && timer == Timer::cupti) return make_cupti_timer(device, stream);
  if (!cpu) return make_cuda_timer(device, timer, stream);
  throw InputError("timer: " + std::string(to_string(timer)) + " is not available on " + device.id +
                   "; use host");
}

}  // namespace nsa::probes
