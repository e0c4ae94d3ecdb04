// Where something ran or will run. Plain values: threads may share one that none of them changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/types.hpp"

namespace nsa {

/// One device as a process sees it. What was not read is absent, never zero.
struct Device {
  std::string id = "cpu";  // "cpu", "cuda:0"
  Backend backend = Backend::cpu;
  std::string name;  // "NVIDIA H200", or the CPU's model name with its core count
  std::string uuid;  // "GPU-..."; a hash of host, model name and core count for a CPU
  std::optional<int> compute_capability;          // 90 for 9.0; none on a CPU
  std::optional<int> multiprocessors;             // SMs, or logical cores of a CPU
  std::optional<std::int64_t> memory_bytes;       // total
  std::optional<std::int64_t> memory_free_bytes;  // when asked
  std::optional<std::int64_t> l2_bytes;           // L2 of a GPU, last-level cache of a CPU
  std::optional<double> power_limit_w;
  std::optional<double> max_clock_mhz;  // boost clock of the SMs, or of the cores
  std::optional<bool> mig;
  std::optional<bool> ecc;
  std::string isa;      // widest vector instructions that a CPU runs, e.g. "avx512f"
  std::string driver;   // "580.95", empty on a CPU
  std::string runtime;  // CUDA runtime "13.0", empty on a CPU
  bool operator==(const Device&) const = default;
};

/// An optional library and whether it can be used, with the reason where it cannot.
struct Capability {
  std::string library;  // "cuDNN", "CUPTI", "NVML", "OpenBLAS"
  bool usable = false;
  std::string version;
  std::string reason;  // empty when usable
  bool operator==(const Capability&) const = default;
};

/// One (host, device) of a placement. Of length one today, a list for several devices and hosts.
struct Placed {
  std::string host;
  std::string device_uuid;
  bool operator==(const Placed&) const = default;
};
using Placement = std::vector<Placed>;

}  // namespace nsa
