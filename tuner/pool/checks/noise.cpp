#include "pool/checks/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "nsa/probes/sharing.hpp"

namespace nsa::tuner {
namespace {

// Reasons that make no noise: limits that somebody set (applications clocks, the clocks of a group
// or a display), which hold for all samples alike, idleness before a launch, and the power cap,
// which has rules of its own. By the names of probes and those of NVML.
constexpr std::array<std::string_view, 11> kHarmless{"",
                                                     "none",
                                                     "idle",
                                                     "gpu_idle",
                                                     "sw_power_cap",
                                                     "applications_clocks",
                                                     "sync_boost",
                                                     "display_clock",
                                                     "applications_clocks_setting",
                                                     "display_clocks",
                                                     "display_clock_setting"};

constexpr double kLeastWaitS = 0.5e-3;  // less is the ordinary work of a kernel
constexpr double kMostWaitShare = 0.1;  // of a visit

constexpr std::size_t kLeastPairs = 8;   // before the spread of controls is known
constexpr double kMostSpreads = 12;      // times the median distance of a pair
constexpr double kLeastApart = 0.05;     // less is not worth another round
constexpr double kAskNeighboursS = 0.5;  // how often

std::vector<std::string> reasons_of(const ClockReading& clocks) {
  std::vector<std::string> reasons;
  std::istringstream words(clocks.throttle.value_or(""));
  for (std::string word; std::getline(words, word, ',');) {
    std::erase_if(word, [](unsigned char c) { return std::isspace(c); });
    reasons.push_back(std::move(word));
  }
  return reasons;
}

/// Time that each thread of a process was ready and had no core, in ns.
std::map<std::string, std::int64_t> waits_of(pid_t pid) {
  std::map<std::string, std::int64_t> waits;
  std::error_code error;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid);
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    std::ifstream file(task->path() / "schedstat");
    std::int64_t ran_ns = 0, waited_ns = 0;
    if (file >> ran_ns >> waited_ns) waits[task->path().filename().string()] = waited_ns;
  }
  return waits;
}

}  // namespace

std::string throttled_by(const ClockReading& clocks) {
  for (const std::string& reason : reasons_of(clocks))
    if (std::ranges::find(kHarmless, reason) == kHarmless.end()) return reason;
  return "";
}

bool power_capped(const ClockReading& clocks) {
  const auto reasons = reasons_of(clocks);
  return std::ranges::find(reasons, "sw_power_cap") != reasons.end();
}

std::string PowerLimits::noise(const ClockReading& clocks, double median_ns) {
  constexpr double kShortNs = 1e6, kShare = 0.75;  // seen of an H200 at its own limit: .75 and more
  const double mhz = clocks.sm_mhz.value_or(0);
  fastest_mhz_ = std::max(fastest_mhz_, mhz);
  if (!power_capped(clocks) || !(mhz > 0) || median_ns > kShortNs || mhz >= kShare * fastest_mhz_)
    return "";
  return fmt::format(
      "at {:.0f} % of its clock by a power limit that launches of {:.3g} ms do not "
      "run into by themselves",
      100 * mhz / fastest_mhz_, 1e-6 * median_ns);
}

CoreWait::CoreWait(pid_t pid) : pid_(pid), before_ns_(waits_of(pid)) {}

std::optional<double> CoreWait::waited_s() const {
  std::optional<double> longest_s;
  for (const auto& [thread, now_ns] : waits_of(pid_)) {
    const auto before = before_ns_.find(thread);
    if (before == before_ns_.end()) continue;
    longest_s =
        std::max(longest_s.value_or(0), 1e-9 * static_cast<double>(now_ns - before->second));
  }
  return longest_s;
}

std::string CoreWait::noise(double visit_s) const {
  const double waited = waited_s().value_or(0);
  if (waited < kLeastWaitS || waited < kMostWaitShare * visit_s) return "";
  return fmt::format("other processes used its cores: it waited {:.1f} of {:.1f} ms", 1e3 * waited,
                     1e3 * visit_s);
}

std::string ControlSpread::noise(double control_ns, double original_ns) const {
  if (sorted_.size() < kLeastPairs) return "";
  const double apart = std::abs(std::log(control_ns / original_ns));
  const double typical = sorted_[sorted_.size() / 2];
  if (apart <= std::max(kLeastApart, kMostSpreads * typical)) return "";
  return fmt::format(
      "the A/A control differs by {:.1f} %, controls of this run typically by {:.2f} %",
      100 * apart, 100 * typical);
}

void ControlSpread::add(double control_ns, double original_ns) {
  const double apart = std::abs(std::log(control_ns / original_ns));
  sorted_.insert(std::ranges::upper_bound(sorted_, apart), apart);
}

std::string Neighbours::noise(const Device& device, std::size_t workers) {
  if (device.backend != Backend::cuda) return "";
  if (asked_ && seconds_since(*asked_) < kAskNeighboursS) return last_;
  asked_ = Clock::now();
  const auto processes = probes::compute_processes(device);
  const auto ours = static_cast<std::int64_t>(workers);
  last_ = !processes || *processes <= ours
              ? ""
              : fmt::format("{} other processes compute on the device", *processes - ours);
  return last_;
}

}  // namespace nsa::tuner
