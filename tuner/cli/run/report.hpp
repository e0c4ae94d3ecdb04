// What `run` reports, as one document; reports/tables makes the text of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "nsa/kernels/forward_bytes.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/telemetry.hpp"
#include "nsa/schemas/json.hpp"
#include "options.hpp"
#include "steps.hpp"
#include "train/report.hpp"

namespace nsa::cli {

/// What a run holds in memory, in bytes.
struct RunMemory {
  std::int64_t weights = 0;
  std::int64_t cache = 0;                   // K and V of a decode loop
  std::int64_t workspace_peak = 0;          // most that the workspace held
  std::optional<std::int64_t> device_used;  // less free memory at the end than at the start; GPU
};
/// Weights and cache of a plan: what is known before anything is allocated.
RunMemory held_memory(const RunPlan& plan);
/// What the caches of a decode loop take that may hold `capacity` tokens of each sequence.
std::int64_t cache_bytes(const ModelConfig& config, std::int64_t batch, std::int64_t capacity);

struct RunReport {
  std::string run_id;                            // UUID, of its row in the database too
  std::string version;                           // version, git revision and compiler of this build
  std::string date;                              // ISO 8601, UTC, when it began
  std::map<std::string, std::string> variables;  // that were set and can change what it measures
  std::string command;
  Device device;
  RunPlan plan;
  RunOptions options;
  RunTimes times;
  double peak_flop_per_s = 0;   // of the device's matrix products, measured before the steps
  std::string peak_name;        // "this machine's sgemm rate"
  std::string peak_definition;  // how it was measured
  TelemetryReport telemetry;
  TelemetryReport backward;             // of training: what ran in that direction
  std::optional<TrainReport> training;  // absent: forward passes only
  ExplainReport explanation;
  RunMemory memory;
  std::optional<ForwardBytes> predicted;  // of a forward pass of a model
  std::optional<Json> proof;              // schema kernel_proof
};

/// The command that would repeat the run.
std::string command_line(const RunOptions& options, const RunPlan& plan);
/// Whether a document of run_result is of training that did not reach its last step: its rate is
/// not that of the command.
bool ended_early(const Json& result);
/// Schema run_result.
Json run_json(const RunReport& report);

}  // namespace nsa::cli
