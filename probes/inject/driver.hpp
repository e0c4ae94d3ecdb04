// The few calls of the driver that the injected tracer makes. CUPTI is not in between, so that they
// work while another tool holds it.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

namespace nsa::inject {

/// Its functions; null where there is no driver, or one that has not got them.
struct Driver {
  decltype(&::cuDeviceGetCount) device_count = nullptr;
  decltype(&::cuDeviceGetName) device_name = nullptr;
  decltype(&::cuDeviceGetUuid) device_uuid = nullptr;
  decltype(&::cuDevicePrimaryCtxGetState) primary_state = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) release = nullptr;
  decltype(&::cuCtxGetCurrent) current = nullptr;
  decltype(&::cuCtxGetDevice) device = nullptr;
  decltype(&::cuCtxGetId) context_id = nullptr;
  decltype(&::cuCtxPushCurrent) push = nullptr;
  decltype(&::cuCtxPopCurrent) pop = nullptr;
  decltype(&::cuCtxSynchronize) synchronize = nullptr;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&::cuStreamCreate) create_stream = nullptr;
  decltype(&::cuStreamIsCapturing) is_capturing = nullptr;
  decltype(&::cuEventCreate) create_event = nullptr;
  decltype(&::cuEventRecord) record_event = nullptr;
  decltype(&::cuEventQuery) query_event = nullptr;
  decltype(&::cuEventElapsedTime) elapsed = nullptr;

  bool complete() const noexcept;
};

/// Of the library that loaded us.
const Driver& driver();
/// Whether the driver's library can be loaded here.
bool has_driver();
/// Devices whose primary context is in use by this process, with what they are called.
struct UsedDevice {
  int ordinal = 0;
  std::string name, uuid;
};
std::vector<UsedDevice> used_devices();
/// Waits for all work of the devices that this process uses, on any thread; nothing where that is
/// not possible (the driver is gone, a stream is captured).
void wait_for_devices();
/// "13.0", or empty.
std::string driver_cuda_version();

/// A device's primary context, where it is in use: held as long as this lives, so that nobody but a
/// reset of the device can end it, and current. To ask a handle that may be dead is not allowed.
class HeldPrimary {
 public:
  HeldPrimary(const Driver& driver, CUdevice device);
  ~HeldPrimary();
  HeldPrimary(const HeldPrimary&) = delete;
  HeldPrimary& operator=(const HeldPrimary&) = delete;

  bool current() const noexcept { return current_; }
  /// Whether it is that context.
  bool is(CUcontext handle, unsigned long long id) const;

 private:
  const Driver& driver_;
  CUdevice device_;
  CUcontext handle_ = nullptr;
  bool retained_ = false, current_ = false;
};

/// While it lives this thread may make calls that a capture on another thread would forbid: that
/// capture is not ours to break.
class DuringCaptures {
 public:
  explicit DuringCaptures(const Driver& driver) : driver_(driver) {
    driver_.exchange_capture_mode(&mode_);
  }
  ~DuringCaptures() { driver_.exchange_capture_mode(&mode_); }
  DuringCaptures(const DuringCaptures&) = delete;
  DuringCaptures& operator=(const DuringCaptures&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace nsa::inject
