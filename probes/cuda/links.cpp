#include "nsa/probes/links.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "machine/dynamic_library.hpp"

namespace nsa::probes {
namespace {

// NVML's stable ABI, as its reference manual gives it.
using NvmlDevice = struct NvmlDeviceOpaque*;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type, result;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
  } value;
};
static_assert(sizeof(PciInfo) == 68 && sizeof(FieldValue) == 40);
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 36;         // NVML_NVLINK_MAX_LINKS
constexpr unsigned kFieldNvlinkSpeed = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
constexpr unsigned kNvlinkActive = 1;       // NVML_FEATURE_ENABLED
constexpr std::array<const char*, 1> kNames{"libnvidia-ml.so.1"};

struct Api {
  DynamicLibrary library{kNames};
  template <class Function>
  Function* get(const char* name) const {
    return library ? library.function<Function>(name) : nullptr;
  }
  using Number = int(NvmlDevice, unsigned*);
  int (*init)() = get<int()>("nvmlInit_v2");
  int (*shutdown)() = get<int()>("nvmlShutdown");
  int (*by_uuid)(const char*,
                 NvmlDevice*) = get<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
  Number* generation = get<Number>("nvmlDeviceGetCurrPcieLinkGeneration");
  Number* width = get<Number>("nvmlDeviceGetCurrPcieLinkWidth");
  Number* max_generation = get<Number>("nvmlDeviceGetMaxPcieLinkGeneration");
  Number* max_width = get<Number>("nvmlDeviceGetMaxPcieLinkWidth");
  int (*link_state)(NvmlDevice, unsigned, unsigned*) =
      get<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  int (*fields)(NvmlDevice, int,
                FieldValue*) = get<int(NvmlDevice, int, FieldValue*)>("nvmlDeviceGetFieldValues");
  int (*pci)(NvmlDevice, PciInfo*) = get<int(NvmlDevice, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
};

std::optional<int> read(Api::Number* function, NvmlDevice device) {
  unsigned value = 0;
  if (!function || function(device, &value) != kSuccess || value == 0 || value > 1024) return {};
  return static_cast<int>(value);
}

/// A link that a GPU has not got ends the list.
std::optional<int> active_nvlinks(const Api& api, NvmlDevice device) {
  if (!api.link_state) return {};
  int active = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = 0;
    if (api.link_state(device, link, &state) != kSuccess) break;
    active += state == kNvlinkActive;
  }
  return active;
}

/// Of one link, in one direction: NVML says MB/s.
std::optional<double> nvlink_speed(const Api& api, NvmlDevice device) {
  FieldValue value{};
  value.field = kFieldNvlinkSpeed;
  if (!api.fields || api.fields(device, 1, &value) != kSuccess || value.result != kSuccess ||
      value.value.as_unsigned == 0)
    return {};
  return value.value.as_unsigned / 1e3;
}

/// The kernel's word, by the address on the PCI bus: "0000:1b:00.0". -1 there: it has none.
std::optional<int> numa_node(const Api& api, NvmlDevice device) {
  PciInfo info{};
  if (!api.pci || api.pci(device, &info) != kSuccess) return {};
  std::string address(info.bus_id, strnlen(info.bus_id, sizeof info.bus_id));
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // NVML writes eight digits of the domain, the kernel four.
  if (const std::size_t colon = address.find(':'); colon == 8) address.erase(0, 4);
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + address + "/numa_node") >> node;
  if (node < 0) return {};
  return node;
}

void read_links(const Api& api, const Device& gpu, DeviceLinks& links) {
  NvmlDevice device = nullptr;
  if (!api.by_uuid || api.by_uuid(gpu.uuid.c_str(), &device) != kSuccess) return;
  links.pcie_generation = read(api.generation, device);
  links.pcie_width = read(api.width, device);
  links.pcie_max_generation = read(api.max_generation, device);
  links.pcie_max_width = read(api.max_width, device);
  links.nvlinks = active_nvlinks(api, device);
  if (const auto speed = nvlink_speed(api, device); speed && links.nvlinks.value_or(0) > 0)
    links.nvlink_gb_per_s = *speed * *links.nvlinks;
  links.numa_node = numa_node(api, device);
}

}  // namespace

std::vector<DeviceLinks> device_links(std::span<const Device> devices) {
  std::vector<DeviceLinks> out;
  const auto is_gpu = [](const Device& device) { return device.backend == Backend::cuda; };
  if (std::none_of(devices.begin(), devices.end(), is_gpu)) return out;
  const Api api;
  const bool usable = api.init && api.shutdown && api.init() == kSuccess;
  for (const Device& device : devices) {
    if (!is_gpu(device)) continue;
    out.emplace_back();
    out.back().device = device.id;
    if (usable) read_links(api, device, out.back());
  }
  if (usable) api.shutdown();
  return out;
}

std::optional<double> pcie_gb_per_s(int generation, int width) {
  // Transfers a second and lane, with the line code: 8b/10b, then 128b/130b, then flits of 242/256.
  constexpr std::array<double, 6> kLane{2.5e9 * 8 / 10,   5e9 * 8 / 10,     8e9 * 128 / 130,
                                        16e9 * 128 / 130, 32e9 * 128 / 130, 64e9 * 242 / 256};
  if (generation < 1 || generation > static_cast<int>(kLane.size()) || width < 1) return {};
  return kLane[static_cast<std::size_t>(generation - 1)] * width / 8 / 1e9;
}

}  // namespace nsa::probes
