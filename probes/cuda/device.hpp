// CUDA devices as the runtime shows them. Two files: one built with the toolkit, one without.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"

namespace nsa::probes {

struct CudaDevices {
  std::vector<Device> devices;
  std::string reason;   // why there are none; empty otherwise
  std::string runtime;  // version that this program was built with, "13.0"; empty when not built
};
/// Makes no context on any device.
CudaDevices cuda_devices();

}  // namespace nsa::probes
