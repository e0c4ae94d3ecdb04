#include "cuda/nvml.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "machine/dynamic_library.hpp"

namespace nsa::probes {
namespace {

// The few prototypes and constants that we need, as NVML's reference manual gives them. All of them
// are part of its stable ABI.
using NvmlDevice = struct NvmlDeviceOpaque*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kVersionBytes = 80;
constexpr std::chrono::milliseconds kSlowReadings{20};  // how old they may be

constexpr const char* kNames[] = {"libnvidia-ml.so.1"};

}  // namespace

struct Nvml::Api {
  DynamicLibrary library{kNames};
  int (*init)() = library.function<int()>("nvmlInit_v2");
  int (*shutdown)() = library.function<int()>("nvmlShutdown");
  const char* (*error_text)(int) = library.function<const char*(int)>("nvmlErrorString");
  int (*driver)(char*,
                unsigned) = library.function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  int (*version)(char*,
                 unsigned) = library.function<int(char*, unsigned)>("nvmlSystemGetNVMLVersion");
  int (*by_uuid)(const char*, NvmlDevice*) =
      library.function<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
  int (*memory)(NvmlDevice, NvmlMemory*) =
      library.function<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  int (*power_limit)(NvmlDevice, unsigned*) =
      library.function<int(NvmlDevice, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  int (*power)(NvmlDevice,
               unsigned*) = library.function<int(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerUsage");
  int (*clock)(NvmlDevice, unsigned, unsigned*) =
      library.function<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetClockInfo");
  int (*max_clock)(NvmlDevice, unsigned, unsigned*) =
      library.function<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo");
  int (*temperature)(NvmlDevice, unsigned, unsigned*) =
      library.function<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetTemperature");
  int (*throttle)(NvmlDevice, unsigned long long*) =
      library.function<int(NvmlDevice, unsigned long long*)>(
          "nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*mig)(NvmlDevice, unsigned*, unsigned*) =
      library.function<int(NvmlDevice, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
  /// Its entries have changed; asked with room for none, it tells their number alone.
  int (*processes)(NvmlDevice, unsigned*, void*) =
      library.function<int(NvmlDevice, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses");
  int (*ecc)(NvmlDevice, unsigned*, unsigned*) =
      library.function<int(NvmlDevice, unsigned*, unsigned*)>("nvmlDeviceGetEccMode");

  /// What changes slowly, and takes as long to read as a short kernel to run.
  struct Slow {
    std::string uuid;
    NvmlDevice device = nullptr;
    std::chrono::steady_clock::time_point read_at;
    ClockReading reading;
  };
  Slow slow;

  NvmlDevice device(const std::string& uuid) const {
    NvmlDevice handle = nullptr;
    return by_uuid && by_uuid(uuid.c_str(), &handle) == kSuccess ? handle : nullptr;
  }
  /// One unsigned reading times `unit`, or nothing where the function or the device lacks it.
  template <class Function, class... Args>
  static std::optional<double> read(Function* function, double unit, Args... args) {
    unsigned value = 0;
    if (!function || function(args..., &value) != kSuccess) return std::nullopt;
    return value * unit;
  }
  static std::optional<bool> mode(int (*function)(NvmlDevice, unsigned*, unsigned*),
                                  NvmlDevice device) {
    unsigned current = 0, pending = 0;
    if (!function || function(device, &current, &pending) != kSuccess) return std::nullopt;
    return current != 0;
  }
  static std::string text(int (*function)(char*, unsigned)) {
    std::array<char, kVersionBytes> buffer{};
    if (!function || function(buffer.data(), kVersionBytes) != kSuccess) return {};
    return buffer.data();
  }
};

Nvml::Nvml() : api_(std::make_unique<Api>()) {
  if (!api_->library) {
    reason_ = api_->library.reason();
  } else if (!api_->init || !api_->shutdown) {
    reason_ = "libnvidia-ml.so.1 has no nvmlInit_v2";
  } else if (const int code = api_->init(); code != kSuccess) {
    reason_ = std::string("nvmlInit_v2: ") + (api_->error_text ? api_->error_text(code) : "failed");
  }
  if (!reason_.empty()) api_.reset();
}

Nvml::~Nvml() {
  if (api_) api_->shutdown();
}

bool Nvml::usable() const noexcept { return api_ != nullptr; }
std::string Nvml::driver_version() const { return api_ ? Api::text(api_->driver) : std::string(); }
std::string Nvml::library_version() const {
  return api_ ? Api::text(api_->version) : std::string();
}

NvmlFacts Nvml::facts(const std::string& uuid) const {
  NvmlFacts facts;
  const NvmlDevice device = api_ ? api_->device(uuid) : nullptr;
  if (!device) return facts;
  NvmlMemory memory{};
  if (api_->memory && api_->memory(device, &memory) == kSuccess)
    facts.memory_free_bytes = static_cast<std::int64_t>(memory.free);
  facts.power_limit_w = Api::read(api_->power_limit, 1e-3, device);  // milliwatts
  facts.max_clock_mhz = Api::read(api_->max_clock, 1.0, device, kClockSm);
  facts.mig = Api::mode(api_->mig, device);
  facts.ecc = Api::mode(api_->ecc, device);
  return facts;
}

ClockReading Nvml::clocks(const std::string& uuid) const {
  if (!api_) return {};
  Api::Slow& slow = api_->slow;
  const auto now = std::chrono::steady_clock::now();
  const bool known = slow.device && slow.uuid == uuid;
  const NvmlDevice device = known ? slow.device : api_->device(uuid);
  if (!device) return {};
  if (!known || now - slow.read_at > kSlowReadings) {
    slow = {uuid, device, now, {}};
    slow.reading.memory_mhz = Api::read(api_->clock, 1.0, device, kClockMemory);
    slow.reading.temperature_c = Api::read(api_->temperature, 1.0, device, kTemperatureGpu);
    slow.reading.power_w = Api::read(api_->power, 1e-3, device);
  }
  ClockReading reading = slow.reading;
  reading.sm_mhz = Api::read(api_->clock, 1.0, device, kClockSm);
  unsigned long long reasons = 0;
  if (api_->throttle && api_->throttle(device, &reasons) == kSuccess)
    reading.throttle = throttle_text(reasons);
  return reading;
}

std::optional<double> Nvml::throttle_bits(const std::string& uuid) const {
  const NvmlDevice device = api_ ? api_->device(uuid) : nullptr;
  unsigned long long reasons = 0;
  if (!device || !api_->throttle || api_->throttle(device, &reasons) != kSuccess)
    return std::nullopt;
  return static_cast<double>(reasons);
}

std::optional<double> Nvml::memory_used_bytes(const std::string& uuid) const {
  const NvmlDevice device = api_ ? api_->device(uuid) : nullptr;
  NvmlMemory memory{};
  if (!device || !api_->memory || api_->memory(device, &memory) != kSuccess) return std::nullopt;
  return static_cast<double>(memory.used);
}

std::optional<std::int64_t> Nvml::compute_processes(const std::string& uuid) const {
  const NvmlDevice device = api_ ? api_->device(uuid) : nullptr;
  unsigned count = 0;
  if (!device || !api_->processes) return std::nullopt;
  const int code = api_->processes(device, &count, nullptr);
  if (code != kSuccess && code != kInsufficientSize) return std::nullopt;
  return count;
}

std::string throttle_text(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, const char*> kBits[] = {
      {0x2, "applications_clocks"}, {0x4, "sw_power_cap"},   {0x8, "hw_slowdown"},
      {0x10, "sync_boost"},         {0x20, "sw_thermal"},    {0x40, "hw_thermal"},
      {0x80, "hw_power_brake"},     {0x100, "display_clock"}};
  std::string text;
  std::uint64_t known = 0x1;  // idle
  const auto add = [&](const std::string& word) { text += text.empty() ? word : "," + word; };
  for (const auto& [bit, name] : kBits) {
    known |= bit;
    if (reasons & bit) add(name);
  }
  if (reasons & ~known) add("other");
  return text;
}

}  // namespace nsa::probes
