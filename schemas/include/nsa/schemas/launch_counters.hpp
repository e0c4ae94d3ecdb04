// What the hardware counted during one launch of a variant, in a pass apart from the timed ones.
// Plain values: threads may share one that none of them changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/launch_subject.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa {

/// A metric by the chip's own name, over the whole range in which the launch lay.
struct CounterMetric {
  std::string name;  // "dram__bytes_read.sum"
  double value = 0;
  bool operator==(const CounterMetric&) const = default;
};

/// Shares are of what the chip can sustain, over the time in which any multiprocessor had work: the
/// range itself also holds what the host takes to launch. Absent is what was not read.
struct LaunchCounters {
  std::string chip;                                               // "GH100"
  std::optional<double> dram_share, l2_share, tensor_share;       // 1 = the peak
  std::optional<std::int64_t> dram_read_bytes, dram_write_bytes;  // what stays in L2 is not written
  std::optional<double> busy_ns;                                  // any multiprocessor had work
  std::int64_t passes = 0;             // launches that it took to read all metrics; 0 = none read
  std::vector<CounterMetric> metrics;  // all that the above is made of
  std::string note;                    // what this chip does not count; else empty
  bool operator==(const LaunchCounters&) const = default;
};

/// The counters of a launch and what they belong to, or why there are none.
struct LaunchCountersRow : LaunchSubject {
  bool cold = true;  // caches held nothing of it before the launch
  Outcome outcome = Outcome::ok;
  std::string reason;      // of any outcome but ok
  std::string counted_at;  // ISO 8601, UTC
  LaunchCounters counters;
  bool operator==(const LaunchCountersRow&) const = default;
};

}  // namespace nsa
