// Heartbeat JSONL, one document a line, with the field names that the users' tools read
// (schemas/json/heartbeat.schema.json). Free functions may be called by several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nsa/kernels/telemetry.hpp"

namespace nsa {

/// One record. What was not read is absent. GPU memory in MiB, as nsa-vibe writes it.
struct Heartbeat {
  double ts = 0;  // seconds since 1970
  std::int64_t pid = 0;
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::string msg = "progress";  // boot, beat, progress, step_end, ...
  std::optional<std::string> phase;
  std::optional<std::int64_t> gpu_mem_alloc, gpu_mem_reserved;  // MiB
  std::optional<double> loss, toks_per_s, dt_fetch_s, grad_norm;
  std::optional<double> gate_entropy_mean, gate_entropy_min, gate_max_gate, gate_collapse_frac;
  std::optional<std::array<double, 3>> gate_branch_shares;  // cmp, sel, win
  std::optional<TelemetryReport> telemetry;                 // sel_*, fb_*, reads_*, grow_events
};

/// The record as one line of JSON in UTF-8, without the newline. Throws nothing but bad_alloc.
std::string heartbeat_line(const Heartbeat& heartbeat);
/// A record of this process with the time of now.
Heartbeat heartbeat_now(std::int64_t step, std::string msg);

/// Appends records to a file, usually heartbeat_rank<N>.jsonl. Each line is written and flushed as
/// a whole. One thread at a time; a file for each process.
class HeartbeatWriter {
 public:
  /// InputError when the name is wrong, or that of a symbolic link or of anything else that is not
  /// a regular file; EnvironmentError when the file cannot be opened. Never waits.
  explicit HeartbeatWriter(std::string path);
  ~HeartbeatWriter();
  HeartbeatWriter(const HeartbeatWriter&) = delete;
  HeartbeatWriter& operator=(const HeartbeatWriter&) = delete;
  /// EnvironmentError when the line cannot be written.
  void append(const Heartbeat& heartbeat);
  /// A `progress` record of now.
  void progress(std::int64_t step, double tokens_per_s, const TelemetryReport& telemetry);
  /// Of the file, as it was given.
  const std::string& path() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nsa
