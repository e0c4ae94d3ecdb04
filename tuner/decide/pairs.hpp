// Visits of a variant in one (process, round), and what two of them say about each other.
#pragma once

#include <optional>
#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::tuner {

/// All visits of one variant in one block, as means over the visits (A B B A: of both A, so that a
/// linear drift cancels).
struct Arm {
  double log_ns = 0;                 // mean over visits of log(median device_ns)
  std::optional<double> log_cycles;  // likewise of the cycles, where every visit has them
  /// log of device cycles per nanosecond: the clock that the samples themselves saw
  std::optional<double> log_clock() const;
};

/// Nothing when no visit has a usable time.
std::optional<Arm> make_arm(const std::vector<const Measurement*>& visits);
/// log(time of a / time of b). Where the clocks of the arms differ by more than 2 % and both have
/// cycles, the ratio in cycles is asked too, and the more cautious of both is taken (0 where they
/// disagree).
double log_ratio(const Arm& a, const Arm& b);

}  // namespace nsa::tuner
