#include "nsa/probes/gpu_load.hpp"

#include "machine/dynamic_library.hpp"

namespace nsa::probes {
namespace {

// Prototypes as NVML's reference manual gives them; all are part of its stable ABI.
using NvmlDevice = struct NvmlDeviceOpaque*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;  // percent
};
constexpr const char* kNames[] = {"libnvidia-ml.so.1"};

}  // namespace

struct GpuLoad::Api {
  DynamicLibrary library{kNames};
  int (*init)() = library.function<int()>("nvmlInit_v2");
  int (*shutdown)() = library.function<int()>("nvmlShutdown");
  int (*count)(unsigned*) = library.function<int(unsigned*)>("nvmlDeviceGetCount_v2");
  int (*by_index)(unsigned, NvmlDevice*) =
      library.function<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
  int (*memory)(NvmlDevice, NvmlMemory*) =
      library.function<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  int (*utilization)(NvmlDevice, NvmlUtilization*) =
      library.function<int(NvmlDevice, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates");

  unsigned devices() const {
    unsigned number = 0;
    return count(&number) == 0 ? number : 0;
  }
};

GpuLoad::GpuLoad() : api_(std::make_unique<Api>()) {
  if (!api_->library) {
    reason_ = api_->library.reason();
  } else if (!api_->init || !api_->shutdown || !api_->count || !api_->by_index) {
    reason_ = "libnvidia-ml.so.1 lacks functions of NVML";
  } else if (api_->init() != 0) {
    reason_ = "nvmlInit_v2 failed";
  } else if (api_->devices() == 0) {
    reason_ = "NVML shows no GPU";
    api_->shutdown();
  }
  if (!reason_.empty()) api_.reset();
}

GpuLoad::~GpuLoad() {
  if (api_) api_->shutdown();
}

std::vector<GpuReading> GpuLoad::read() const {
  std::vector<GpuReading> readings;
  for (unsigned i = 0; api_ && i < api_->devices(); ++i) {
    GpuReading reading;
    NvmlDevice device = nullptr;
    NvmlUtilization busy{};
    NvmlMemory memory{};
    const bool there = api_->by_index(i, &device) == 0;
    if (there && api_->utilization && api_->utilization(device, &busy) == 0)
      reading.busy_percent = busy.gpu;
    if (there && api_->memory && api_->memory(device, &memory) == 0) {
      reading.used_bytes = static_cast<std::int64_t>(memory.used);
      reading.total_bytes = static_cast<std::int64_t>(memory.total);
    }
    readings.push_back(reading);
  }
  return readings;
}

}  // namespace nsa::probes
