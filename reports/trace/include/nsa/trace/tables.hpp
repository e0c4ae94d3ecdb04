// Rows of the tables that say what time went to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nsa::trace {

/// Copies of one way between one kind of memory of the host and devices; memsets.
struct CopyRow {
  std::string kind;                   // HtoD, DtoH, DtoD, PtoP, HtoH, memset, other
  std::optional<std::string> memory;  // pageable, pinned, managed, device; absent: not recorded
  std::int64_t count = 0, bytes = 0, total_ns = 0;
  std::optional<double> median_gb_per_s, best_gb_per_s;  // absent: no bytes were recorded
};

/// What made the worst step longer than the median of all.
struct StepCause {
  std::string what;  // compute, exposed_comm, copies, host_wait, sync, ..., before_next_step
  std::int64_t more_ns = 0;
};

/// Of all steps, from begin to begin: on the device's line where every step has work there, else on
/// the host.
struct StepTimes {
  std::int64_t count = 0, median_ns = 0, p95_ns = 0, worst_ns = 0;
  std::size_t worst = 0;  // into Summary::steps
  bool on_device = false;
  std::vector<StepCause> causes;  // largest first; of the worst step
};

}  // namespace nsa::trace
