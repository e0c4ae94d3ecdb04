// How the GPUs of this machine are connected: PCIe, NVLink, and the NUMA node of the host.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"

namespace nsa::probes {

/// What NVML or the kernel does not tell is absent.
struct DeviceLinks {
  std::string device;  // "cuda:0"
  /// As trained now: an idle GPU may lower the generation. And what both ends are able to do.
  std::optional<int> pcie_generation, pcie_width, pcie_max_generation, pcie_max_width;
  std::optional<int> nvlinks;             // that are active; 0 = none
  std::optional<double> nvlink_gb_per_s;  // of all of them, in one direction
  std::optional<int> numa_node;           // of the host's memory that is next to it
};

/// Of those of the devices that are GPUs, in their order. Reads NVML and /sys; no CUDA call.
std::vector<DeviceLinks> device_links(std::span<const Device> devices);

/// GB/s (10^9 bytes) in one direction of a PCIe link, line code taken off, packets not. Absent for
/// a generation that is not known (1 to 6 are). PCI Express Base Specification 6.0.
std::optional<double> pcie_gb_per_s(int generation, int width);

}  // namespace nsa::probes
