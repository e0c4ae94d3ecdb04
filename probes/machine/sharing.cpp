#include "nsa/probes/sharing.hpp"

#include "cuda/nvml.hpp"

namespace nsa::probes {

std::optional<std::int64_t> compute_processes(const Device& device) {
  static const Nvml nvml;  // opening it takes longer than asking
  return nvml.compute_processes(device.uuid);
}

}  // namespace nsa::probes
