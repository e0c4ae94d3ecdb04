// A driver with one device and one context, whose GPU gets to everything at once: found instead of
// the machine's through LD_LIBRARY_PATH, by what is injected. Only what the tracer calls.
#include <time.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

constexpr int kGood = 0;
char context;

struct Event {
  double at_ms = 0;
};

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace

extern "C" {
int cuDriverGetVersion(int* version) { return *version = 13000, kGood; }
int cuDeviceGetCount(int* count) { return *count = 1, kGood; }
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "Made-up GPU");
  return kGood;
}
int cuDeviceGetUuid_v2(char* uuid, int) { return std::memset(uuid, 7, 16), kGood; }
int cuDevicePrimaryCtxGetState(int, unsigned*, int* active) { return *active = 1, kGood; }
int cuDevicePrimaryCtxRetain(void** out, int) { return *out = &context, kGood; }
int cuDevicePrimaryCtxRelease_v2(int) { return kGood; }
int cuCtxGetCurrent(void** out) { return *out = &context, kGood; }
int cuCtxGetDevice(int* device) { return *device = 0, kGood; }
int cuCtxGetId(void*, unsigned long long* id) { return *id = 1, kGood; }
int cuCtxPushCurrent_v2(void*) { return kGood; }
int cuCtxPopCurrent_v2(void**) { return kGood; }
int cuCtxSynchronize() { return kGood; }
int cuThreadExchangeStreamCaptureMode(int*) { return kGood; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &context, kGood; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0, kGood; }
int cuEventCreate(Event** event, unsigned) { return *event = new Event, kGood; }
int cuEventRecord(Event* event, void*) { return event->at_ms = now_ms(), kGood; }
int cuEventQuery(Event*) { return kGood; }
int cuEventElapsedTime(float* ms, const Event* from, const Event* to) {
  return *ms = static_cast<float>(to->at_ms - from->at_ms), kGood;
}
}
