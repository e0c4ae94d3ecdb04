// Stands in for libnvidia-ml.so.1: one GPU of 80 GiB, 5 % busy, on which somebody takes 15 GiB
// after the first reading.
extern "C" {
struct FakeMemory {
  unsigned long long total, free, used;
};
struct FakeUtilization {
  unsigned gpu, memory;
};
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
  static int readings = 0;
  constexpr unsigned long long kGiB = 1ull << 30;
  const unsigned long long used = (readings++ == 0 ? 1 : 16) * kGiB;
  *memory = {80 * kGiB, 80 * kGiB - used, used};
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, FakeUtilization* utilization) {
  *utilization = {5, 1};
  return 0;
}
}
