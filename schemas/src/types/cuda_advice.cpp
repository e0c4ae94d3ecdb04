#include <string>

#include "nsa/schemas/cuda/out_of_memory.hpp"

namespace nsa {

std::string advice_for(const CudaError& error) {
  // Numbers of cudaError_t (driver_types.h), which this file must not include.
  switch (error.code) {
    case kMemoryAllocation:
      return "not enough free GPU memory; ask for a shorter sequence or a smaller batch, or wait "
             "for "
             "the processes that nvidia-smi lists";
    case 35:   // cudaErrorInsufficientDriver
    case 803:  // cudaErrorSystemDriverMismatch
    case 804:  // cudaErrorCompatNotSupportedOnDevice
      return "the NVIDIA driver does not fit this program; update it (nvidia-smi shows its "
             "version)";
    case 46:  // cudaErrorDevicesUnavailable
      return "another process holds the GPU, or its compute mode forbids this one; wait for it, "
             "choose "
             "another --device, or ask for `nvidia-smi -c DEFAULT`";
    case 100:  // cudaErrorNoDevice
      return "no CUDA device is visible; look at CUDA_VISIBLE_DEVICES and nvidia-smi";
    case 209:  // cudaErrorNoKernelImageForDevice
      return "this program holds no code for that GPU; build it with NSA_CUDA_ARCHITECTURES for it";
    case 802:  // cudaErrorSystemNotReady
      return "the system is not ready; is the fabric manager or the driver still starting?";
    default:
      return std::string("unexpected: ") + error.what();
  }
}

}  // namespace nsa
