#include "cuda/device.hpp"

#include <cuda_runtime_api.h>

#include "cuda/driver.hpp"
#include "cuda/nvml.hpp"
#include "cuda/uuid.hpp"

namespace nsa::probes {
namespace {

Device describe(int ordinal, const cudaDeviceProp& properties, const Nvml& nvml, int runtime) {
  Device device;
  device.id = "cuda:" + std::to_string(ordinal);
  device.backend = Backend::cuda;
  device.name = properties.name;
  device.uuid = uuid_text(properties.uuid.bytes);
  device.compute_capability = properties.major * 10 + properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  device.driver = nvml.driver_version();
  device.runtime = cuda_version_text(runtime);
  const NvmlFacts facts = nvml.facts(device.uuid);
  device.memory_free_bytes = facts.memory_free_bytes;
  device.power_limit_w = facts.power_limit_w;
  device.max_clock_mhz = facts.max_clock_mhz;
  device.mig = facts.mig;
  device.ecc = facts.ecc;
  int khz = 0;
  if (!device.max_clock_mhz &&
      cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, ordinal) == cudaSuccess && khz > 0)
    device.max_clock_mhz = khz / 1000.0;
  return device;
}

/// Asks the driver itself: the runtime answers 0 for a driver that is too old as well as for none.
std::string why_none(cudaError_t error, int runtime) {
  const int driver = driver_version(DynamicLibrary(kDriverFiles));
  if (driver == 0) return "no NVIDIA driver is installed";
  if (driver / 1000 < runtime / 1000) {
    return "the NVIDIA driver is too old: it supports CUDA " + cuda_version_text(driver) +
           ", this program needs " + cuda_version_text(runtime / 1000 * 1000) +
           "; update the driver";
  }
  return error != cudaSuccess ? cudaGetErrorString(error) : "the driver shows no device";
}

}  // namespace

CudaDevices cuda_devices() {
  CudaDevices found;
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) found.runtime = cuda_version_text(runtime);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    found.reason = why_none(error, runtime);
    cudaGetLastError();  // the absence is reported here; it must not surface in a later check
    return found;
  }
  const Nvml nvml;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess)
      found.devices.push_back(describe(ordinal, properties, nvml, runtime));
  }
  return found;
}

}  // namespace nsa::probes
