// NVML, opened at run time: it comes with the driver, its header does not come with the toolkit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nsa/schemas/measurement.hpp"

namespace nsa::probes {

/// What NVML knows of one GPU; what it does not tell is absent.
struct NvmlFacts {
  std::optional<std::int64_t> memory_free_bytes;
  std::optional<double> power_limit_w, max_clock_mhz;
  std::optional<bool> mig, ecc;
};

/// The library, initialised, or a null object that says why not.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool usable() const noexcept;
  const std::string& reason() const noexcept { return reason_; }
  std::string driver_version() const;   // "580.95.05", empty when not known
  std::string library_version() const;  // NVML's own
  /// `uuid` as "GPU-...".
  NvmlFacts facts(const std::string& uuid) const;
  /// Clock and throttle reasons as they are now, the rest at most 20 ms old. One thread at a time.
  ClockReading clocks(const std::string& uuid) const;
  /// The reasons as NVML's bits, idle included.
  std::optional<double> throttle_bits(const std::string& uuid) const;
  std::optional<double> memory_used_bytes(const std::string& uuid) const;
  /// Processes with a compute context on it.
  std::optional<std::int64_t> compute_processes(const std::string& uuid) const;

 private:
  struct Api;
  std::unique_ptr<Api> api_;
  std::string reason_;
};

/// Names of the bits of nvmlDeviceGetCurrentClocksEventReasons, comma separated; "" = none. The
/// idle bit is left out: a GPU between two launches is idle, which slows nothing down.
std::string throttle_text(std::uint64_t reasons);

}  // namespace nsa::probes
