#include "cpu/device.hpp"

#include <time.h>

#include <cstdlib>

#include "cpu/flush.hpp"

namespace nsa::probes {
namespace {

/// Mean of the cores' current clocks, where the kernel shows them.
std::optional<double> current_clock_mhz(int cores) {
  double sum = 0;
  int read = 0;
  for (int core = 0; core < cores; ++core) {
    const std::string khz = system_file_line("/sys/devices/system/cpu/cpu" + std::to_string(core) +
                                             "/cpufreq/scaling_cur_freq");
    if (khz.empty()) continue;
    sum += std::strtod(khz.c_str(), nullptr) / 1000.0;
    ++read;
  }
  if (read == 0) return std::nullopt;
  return sum / read;
}

/// Cycles stay absent: the time stamp counter ticks at a fixed rate whatever the core's clock does,
/// so it would say nothing that the time does not, and core cycles need a privileged counter.
class CpuTimer final : public LaunchTimer {
 public:
  explicit CpuTimer(const Device& device)
      : cores_(device.multiprocessors.value_or(1)),
        flush_(flush_bytes_per_core(device.l2_bytes, cpu_cache_bytes(2), cores_), cores_) {}

  void flush_caches() override { flush_.run(); }

  Sample time(void (*launch)(void*), void* context) override {
    Sample sample;
    sample.start_ns = monotonic_ns();
    launch(context);
    sample.host_ns = monotonic_ns() - sample.start_ns;
    sample.device_ns = sample.host_ns;
    return sample;
  }

  ClockReading clocks() override {
    ClockReading reading;
    reading.sm_mhz = current_clock_mhz(cores_);
    return reading;
  }

 private:
  int cores_;
  CpuFlush flush_;
};

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

std::unique_ptr<LaunchTimer> make_cpu_timer(const Device& device) {
  return std::make_unique<CpuTimer>(device);
}

}  // namespace nsa::probes
