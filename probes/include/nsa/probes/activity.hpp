// What the device and the driver did, as CUPTI records it: kernels, copies, calls, waits, memory.
// Records are the plain structs of the trace spool; times are CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nsa/schemas/trace_spool.hpp"

namespace nsa::probes {

/// Kernels always, the rest as asked.
struct ActivityOptions {
  bool copies = true;        // copies and memory sets
  bool calls = true;         // runtime and driver, without the getters that only make noise
  bool noise_calls = false;  // those too
  bool synchronisation = true;
  bool memory = true;    // allocations, frees, pools
  bool overhead = true;  // what the tracing itself costs
};

struct ActivityTrace {
  std::vector<spool::SpoolDevice> devices;
  std::vector<spool::SpoolKernel> kernels;
  std::vector<spool::SpoolCopy> copies;
  std::vector<spool::SpoolSet> sets;
  std::vector<spool::SpoolApi> calls;
  std::vector<spool::SpoolSync> syncs;
  std::vector<spool::SpoolMemory> memory;
  std::vector<spool::SpoolOverhead> overhead;
  /// Demangled; the records' texts are numbers in it.
  std::vector<std::string> texts{""};
  /// Since the session began; `dropped` is exact.
  spool::SpoolTotals totals;
};

/// Why the library cannot be used; empty where it can. Costs nothing from the second call on.
std::string activity_missing();
/// Which tool holds CUPTI now ("CUPTI for ..."); empty where nobody does. Not while a session
/// lives.
std::string activity_holder();
/// The library's version, as 130001; 0 without one.
std::uint32_t activity_version();

/// Records from its construction to its end. One a process.
class ActivitySession {
 public:
  /// EnvironmentError when the library is missing or too old, there is no device, or another tool
  /// holds CUPTI, with its name.
  explicit ActivitySession(const ActivityOptions& options = {});
  ~ActivitySession();
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  /// Everything that ended since the last call. The caller has waited for the device: what still
  /// runs comes without its times, once.
  ActivityTrace take();
  /// Empties CUPTI's buffers of what is complete, for take() later. From any thread.
  void flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nsa::probes
