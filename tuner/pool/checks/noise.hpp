// What speaks against the samples of a visit: a state of the device or the host that will pass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/measurement.hpp"
#include "process/child.hpp"

namespace nsa::tuner {

/// Throttle reasons that make samples noisy whatever the others of the round had: a device that is
/// too hot or was throttled. "" = none.
std::string throttled_by(const ClockReading& clocks);
/// At its power limit: that is how a heavy kernel runs, as long as all of a round run so.
bool power_capped(const ClockReading& clocks);

/// Tells a power limit that a visit's own launches ran into from one that others caused. Power is
/// averaged over far more than a short launch takes, with pauses between samples, so that such
/// launches cannot pull the clock down by much; they run at the limit of a heavy neighbour, or of a
/// rack.
class PowerLimits {
 public:
  /// What is wrong with a visit with that median, or "". Remembers the fastest clock of the sweep.
  std::string noise(const ClockReading& clocks, double median_ns);

 private:
  double fastest_mhz_ = 0;
};

/// How long the threads of a worker waited for a core, because others had it.
class CoreWait {
 public:
  /// Of a process on this host.
  explicit CoreWait(pid_t pid);
  /// The longest wait of one of its threads since then; nothing where the kernel does not tell.
  std::optional<double> waited_s() const;
  /// What is wrong with a visit that took so long, or "".
  std::string noise(double visit_s) const;

 private:
  pid_t pid_;
  std::map<std::string, std::int64_t> before_ns_;  // by thread
};

/// Whether two visits of one variant, neighbours in time, are farther apart than the pairs of the
/// run are: something happened between them.
class ControlSpread {
 public:
  /// Of the same variant, in one half of a round. "" where it is as the others, or nobody can say.
  std::string noise(double control_ns, double original_ns) const;
  void add(double control_ns, double original_ns);

 private:
  std::vector<double> sorted_;  // absolute logarithms; the upper of two in the middle is typical
};

/// Another process that computes on the same GPU. Asked seldom: it takes a millisecond.
class Neighbours {
 public:
  /// `workers`: processes of ours on the device.
  std::string noise(const Device& device, std::size_t workers);

 private:
  std::optional<TimePoint> asked_;
  std::string last_;
};

}  // namespace nsa::tuner
