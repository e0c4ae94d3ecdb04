#include "publish.hpp"

#include <fmt/format.h>

#include "files/database_wait.hpp"
#include "nsa/kernels/peak.hpp"
#include "nsa/reports/run_result_text.hpp"
#include "nsa/schemas/output_path.hpp"
#include "program.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

/// The rate of matrix products that a share of the peak is a share of.
void measure_peak(const RunDevice& device, Dtype dtype, RunReport& report) {
  if (!device.on_gpu()) {
    report.peak_flop_per_s = measure_sgemm_flop_per_s();
    report.peak_name = "this machine's sgemm rate";
    report.peak_definition = "sgemm of this machine (n = 1024, all threads), measured in this run";
    return;
  }
  const std::string type(to_string(dtype));
  report.peak_flop_per_s = measure_device_flop_per_s(dtype, device.stream());
  report.peak_name = "this device's " + type + " matrix rate";
  report.peak_definition = "cuBLASLt product of random " + type +
                           " matrices (n = 8192, fp32: 4096), measured in this run";
}

}  // namespace

std::optional<store::Store> open_database(const Settings& settings, const RunOptions& options) {
  if (options.no_db) return std::nullopt;
  try {
    return store::Store::open(settings.db_path(), wait_aloud(settings));
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(std::string(error.what()) + "; --no-db keeps no result");
  }
}

namespace {

const std::string& checked_heartbeat(const std::string& path) {
  refuse_database(path);
  return path;
}

}  // namespace

HeartbeatFile::HeartbeatFile(const Settings& settings, const std::string& path)
    : settings_(settings), writer_(checked_heartbeat(path)) {}

void HeartbeatFile::append(const Heartbeat& heartbeat) {
  if (!failure_.empty()) return;
  try {
    writer_.append(heartbeat);
  } catch (const EnvironmentError& error) {
    failure_ = error.what();
    say(settings_, failure_ + "; the run goes on without heartbeats");
  }
}

void HeartbeatFile::require_all() const {
  if (!failure_.empty())
    throw EnvironmentError(failure_ + ": heartbeats are missing; make room on its disk");
}

ExitCode verdict(const Settings& settings, const RunReport& report) {
  ExitCode code = ExitCode::good;
  const auto is_slow = [](const TelemetryReport& ran) {
    return ran.slow_path_calls > 0 || !ran.fallback.empty();
  };
  if (report.options.strict && (is_slow(report.telemetry) || is_slow(report.backward))) {
    say(settings, "strict: a slow path or a fallback ran (see above)");
    code = ExitCode::found;
  }
  if (report.proof && !report.proof->at("holds").get<bool>()) {
    say(settings, "trace: other kernels ran than those of the rows that are named (see above)");
    code = ExitCode::found;
  }
  return code;
}

RunReport report_of(const RunRecord& record, const RunDevice& device, const RunPlan& plan,
                    const RunOptions& options) {
  RunReport report;
  report.run_id = record.run.id;
  report.version = record.run.build_id;
  report.date = record.run.started_at;
  report.variables = variables_of(record.run.environment);
  report.command = command_line(options, plan);
  report.device = device.device();
  report.plan = plan;
  report.options = options;
  measure_peak(device, plan.config.dtype, report);
  return report;
}

void publish(const Settings& settings, const RunReport& report, RunRecord record,
             std::optional<store::Store>& db) {
  const Json document = run_json(report);
  AllTried tried;
  tried([&] {
    settings.json ? print_json(document) : print_fitted(reports::run_result_text(document));
  });
  tried([&] {
    if (!db) return;
    keep_record(*db, std::move(record), document);
    say(settings, fmt::format("run {} in {}", report.run_id, settings.db_path()));
  });
  tried.rethrow();
}

}  // namespace nsa::cli
