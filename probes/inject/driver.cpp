#include "inject/driver.hpp"

#include <cuda.h>
#include <dlfcn.h>

namespace nsa::inject {
namespace {

/// Null functions where the driver is not loaded.
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  template <class Function>
  Function load(Function, const char* name) const {
    return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
  }
  decltype(&cuDeviceGetCount) count = load(count, "cuDeviceGetCount");
  decltype(&cuDevicePrimaryCtxGetState) state = load(state, "cuDevicePrimaryCtxGetState");
  decltype(&cuDevicePrimaryCtxRetain) retain = load(retain, "cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxRelease) release = load(release, "cuDevicePrimaryCtxRelease_v2");
  decltype(&cuCtxPushCurrent) push = load(push, "cuCtxPushCurrent_v2");
  decltype(&cuCtxPopCurrent) pop = load(pop, "cuCtxPopCurrent_v2");
  decltype(&cuCtxSynchronize) synchronize = load(synchronize, "cuCtxSynchronize");
  decltype(&cuThreadExchangeStreamCaptureMode) capture_mode =
      load(capture_mode, "cuThreadExchangeStreamCaptureMode");
  decltype(&cuDriverGetVersion) version = load(version, "cuDriverGetVersion");

  bool usable() const {
    return count && state && retain && release && push && pop && synchronize && capture_mode;
  }
};

const Driver& driver() {
  static const Driver kDriver;
  return kDriver;
}

void wait_for_device(const Driver& d, CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  if (d.state(device, &flags, &active) != CUDA_SUCCESS || !active) return;
  if (d.retain(&context, device) != CUDA_SUCCESS) return;
  if (d.push(context) == CUDA_SUCCESS) {
    d.synchronize();
    d.pop(&context);
  }
  d.release(device);
}

}  // namespace

bool has_driver() {
  static const bool kHas = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  return kHas;
}

void wait_for_devices() {
  const Driver& d = driver();
  int devices = 0;
  if (!d.usable() || d.count(&devices) != CUDA_SUCCESS) return;
  // A capture on another thread is not ours to break.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  d.capture_mode(&mode);
  for (CUdevice device = 0; device < devices; ++device) wait_for_device(d, device);
  d.capture_mode(&mode);
}

std::string driver_cuda_version() {
  int version = 0;
  if (!driver().version || driver().version(&version) != CUDA_SUCCESS) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace nsa::inject
