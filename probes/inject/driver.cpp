#include "inject/driver.hpp"

#include <array>
#include <type_traits>

#include "cuda/driver.hpp"
#include "cuda/uuid.hpp"

namespace nsa::inject {
namespace {

const probes::DynamicLibrary& library() {
  static const probes::DynamicLibrary kLibrary(probes::kDriverFiles);
  return kLibrary;
}

Driver load() {
  Driver d;
  const auto set = [](auto& function, const char* name) {
    function =
        library().function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(
            name);
  };
  set(d.device_count, "cuDeviceGetCount");
  set(d.device_name, "cuDeviceGetName");
  set(d.device_uuid, "cuDeviceGetUuid_v2");
  set(d.primary_state, "cuDevicePrimaryCtxGetState");
  set(d.retain, "cuDevicePrimaryCtxRetain");
  set(d.release, "cuDevicePrimaryCtxRelease_v2");
  set(d.current, "cuCtxGetCurrent");
  set(d.device, "cuCtxGetDevice");
  set(d.context_id, "cuCtxGetId");
  set(d.push, "cuCtxPushCurrent_v2");
  set(d.pop, "cuCtxPopCurrent_v2");
  set(d.synchronize, "cuCtxSynchronize");
  set(d.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  set(d.create_stream, "cuStreamCreate");
  set(d.is_capturing, "cuStreamIsCapturing");
  set(d.create_event, "cuEventCreate");
  set(d.record_event, "cuEventRecord");
  set(d.query_event, "cuEventQuery");
  set(d.elapsed, "cuEventElapsedTime");
  return d;
}

bool is_used(const Driver& d, CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  return d.primary_state(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

}  // namespace

bool Driver::complete() const noexcept {
  return device_count && device_name && device_uuid && primary_state && retain && release &&
         current && device && context_id && push && pop && synchronize && exchange_capture_mode &&
         create_stream && is_capturing && create_event && record_event && query_event && elapsed;
}

HeldPrimary::HeldPrimary(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {
  retained_ = is_used(driver, device) && driver.retain(&handle_, device) == CUDA_SUCCESS;
  current_ = retained_ && driver.push(handle_) == CUDA_SUCCESS;
}

HeldPrimary::~HeldPrimary() {
  if (current_) driver_.pop(&handle_);
  if (retained_) driver_.release(device_);
}

bool HeldPrimary::is(CUcontext handle, unsigned long long id) const {
  unsigned long long now = 0;
  return current_ && handle_ == handle && driver_.context_id(handle_, &now) == CUDA_SUCCESS &&
         now == id;
}

const Driver& driver() {
  static const Driver kDriver = load();
  return kDriver;
}

bool has_driver() { return static_cast<bool>(library()); }

std::vector<UsedDevice> used_devices() {
  const Driver& d = driver();
  std::vector<UsedDevice> used;
  int devices = 0;
  if (!d.complete() || d.device_count(&devices) != CUDA_SUCCESS) return used;
  for (CUdevice device = 0; device < devices; ++device) {
    if (!is_used(d, device)) continue;
    std::array<char, 256> name{};
    CUuuid uuid{};
    d.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
    const bool known = d.device_uuid(&uuid, device) == CUDA_SUCCESS;
    used.push_back({device, name.data(), known ? probes::uuid_text(uuid.bytes) : std::string()});
  }
  return used;
}

void wait_for_devices() {
  const Driver& d = driver();
  int devices = 0;
  if (!d.complete() || d.device_count(&devices) != CUDA_SUCCESS) return;
  const DuringCaptures allowed(d);
  for (CUdevice device = 0; device < devices; ++device) {
    const HeldPrimary held(d, device);
    if (held.current()) d.synchronize();
  }
}

std::string driver_cuda_version() {
  const int version = probes::driver_version(library());
  return version == 0 ? std::string() : probes::cuda_version_text(version);
}

}  // namespace nsa::inject
