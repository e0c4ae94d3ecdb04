// What `run` prints.
#pragma once

#include <string>

#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/telemetry.hpp"
#include "nsa/schemas/json.hpp"
#include "run_options.hpp"
#include "run_steps.hpp"

namespace nsa::cli {

struct RunReport {
  std::string command;
  Device device;
  RunPlan plan;
  RunOptions options;
  RunTimes times;
  double peak_flop_per_s = 0;   // of the device's matrix products, measured before the steps
  std::string peak_name;        // "this machine's sgemm rate"
  std::string peak_definition;  // how it was measured
  TelemetryReport telemetry;
  ExplainReport explanation;
};

/// The command that would repeat the run.
std::string command_line(const RunOptions& options, const RunPlan& plan);
/// Schema run_result.
Json run_json(const RunReport& report);
std::string run_text(const RunReport& report);

}  // namespace nsa::cli
