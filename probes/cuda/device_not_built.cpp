#include "cuda/device.hpp"

namespace nsa::probes {

CudaDevices cuda_devices() {
  return {{}, "this program was built without CUDA (NSA_CUDA=OFF, or no toolkit was found)", ""};
}

}  // namespace nsa::probes
