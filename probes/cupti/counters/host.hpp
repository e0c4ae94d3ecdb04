// The half of CUPTI's profiler that touches no device: which metrics a chip has, how they are
// scheduled, and what the numbers that came back mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cupti/counters/profiler_api.hpp"
#include "nsa/schemas/launch_counters.hpp"

namespace nsa::probes::cupti {

class CounterHost {
 public:
  /// `availability`: what this device counts of what its chip can; empty = all. EnvironmentError
  /// when CUPTI does not know the chip, or the chip has none of our metrics.
  CounterHost(const ProfilerApi& api, const std::string& chip,
              const std::vector<std::uint8_t>& availability = {});
  ~CounterHost();
  CounterHost(const CounterHost&) = delete;
  CounterHost& operator=(const CounterHost&) = delete;

  const std::string& chip() const noexcept { return chip_; }
  const std::vector<std::string>& metrics() const noexcept { return metrics_; }
  /// The same as C strings, for calls that write nothing to them.
  std::vector<const char*> metric_names() const;
  /// How the counters are set, pass by pass.
  const std::vector<std::uint8_t>& config() const noexcept { return config_; }
  /// The metrics of the first range in decoded counter data.
  std::vector<CounterMetric> evaluate(const std::vector<std::uint8_t>& data) const;

 private:
  bool has(const std::string& metric) const;
  void configure();

  const ProfilerApi& api_;
  std::string chip_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::string> metrics_;
  std::vector<std::uint8_t> config_;
};

}  // namespace nsa::probes::cupti
