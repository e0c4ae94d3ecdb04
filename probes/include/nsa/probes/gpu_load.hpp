// How busy the GPUs of this machine are, by NVML.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nsa::probes {

/// One GPU at one moment; what NVML does not tell is absent.
struct GpuReading {
  std::optional<double> busy_percent;  // share of its last sampling period with a kernel running
  std::optional<std::int64_t> used_bytes, total_bytes;
};

/// The library, opened once, or a null object that says why not. One thread at a time.
class GpuLoad {
 public:
  GpuLoad();
  ~GpuLoad();
  GpuLoad(const GpuLoad&) = delete;
  GpuLoad& operator=(const GpuLoad&) = delete;

  /// Why there is no reading; "" = there is.
  const std::string& reason() const noexcept { return reason_; }
  /// One for each GPU, in NVML's order.
  std::vector<GpuReading> read() const;

 private:
  struct Api;
  std::unique_ptr<Api> api_;
  std::string reason_;
};

}  // namespace nsa::probes
