// What was measured: raw samples and the row that owns them. Plain values: threads may share one
// that none of them changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa {

/// One timed launch. On a CPU device_ns equals host_ns (CLOCK_MONOTONIC around the launch).
struct Sample {
  std::int64_t start_ns = 0;           // CLOCK_MONOTONIC at the launch call
  std::int64_t device_ns = 0;          // by the timer of the request
  std::int64_t host_ns = 0;            // from the launch call to its end as the host sees it
  std::optional<std::int64_t> cycles;  // device cycles around the sample; absent = not read
  bool operator==(const Sample&) const = default;
};

/// FLOP and bytes that the mathematics needs (docs/nsa.md 12), not what a kernel wastes.
struct Cost {
  double flop = 0;
  double bytes = 0;  // compulsory reads and writes
  bool operator==(const Cost&) const = default;
};

/// Clocks and limits read per batch of samples.
struct ClockReading {
  std::optional<double> sm_mhz, memory_mhz, temperature_c, power_w;
  std::optional<std::string> throttle;  // reasons, comma separated; "" = none
  bool operator==(const ClockReading&) const = default;
};

/// What a workspace was asked for at most, in the units of the reserves.
struct ReserveNeed {
  std::int64_t varlen_n = 0, varlen_k = 0;      // rows, packed tokens
  std::int64_t sel_pack_n = 0, sel_pack_l = 0;  // rows, tokens per row
  bool operator==(const ReserveNeed&) const = default;
};

/// One row: one variant on one problem, measured once in one process and round.
struct Measurement {
  std::string id;       // UUID, unique over machines
  std::string run_id;   // UUID of its run
  std::string job_key;  // hash of problem, variant, launch, timer, cold, process, round: resume
  std::string executor = "nsatune";  // who ran it; decisions are keyed by it
  Placement placement;
  Problem problem;
  VariantId variant;
  std::string source_hash;    // of the variant's sources
  std::int64_t process = 0;   // which fresh worker process
  std::int64_t round = 0;     // which randomised round
  std::int64_t position = 0;  // place in the interleaved order of its round
  std::string pair_id;        // measurements that were interleaved (A B B A) share it
  bool control = false;       // the A/A control of another row
  bool held_out = false;      // measured to judge the decision, never decided upon
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  bool cold = true;  // caches flushed before each sample, outside the timed region
  Outcome outcome = Outcome::ok;
  std::string reason;  // why there is no result, or a wrong one
  std::string note;    // what was observed on the samples of an ok row; "" = nothing
  Verification verification = Verification::unverified;
  std::optional<double> worst_row_error;  // relative L2 of the worst row, by the parent
  std::optional<std::int64_t> first_call_ns;
  std::optional<std::int64_t> workspace_bytes;
  std::optional<std::int64_t> grow_events;  // of the workspace in this measurement
  std::optional<ReserveNeed> need;          // of the workspace so far
  std::optional<double> median_ns;          // of device_ns
  std::optional<double> mad_ns;             // median absolute deviation of device_ns
  std::int64_t samples_n = 0;
  Cost cost;
  ClockReading clocks;
  std::string measured_at;  // ISO 8601, UTC
  std::vector<Sample> samples;
};

}  // namespace nsa
