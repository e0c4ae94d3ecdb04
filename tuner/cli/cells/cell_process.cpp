#include "cell_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "captured_process.hpp"

namespace nsa::cli {
namespace {

using run_tables::Asked;
using run_tables::Cell;
using run_tables::Status;

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t before = text.rfind('\n', end);
  return text.substr(before + 1, end - before);  // npos + 1 is 0
}

}  // namespace

void take_document(Cell& cell, const Json& run) {
  cell.status = Status::ok;
  cell.process_ns.emplace_back(run["median_step_ns"].get<double>());
  cell.tokens_per_step = run["tokens_per_step"].get<std::int64_t>();
  cell.flop_per_step = run["flop_per_step"].get<double>();
  cell.workspace_peak_bytes = run["telemetry"]["peak_workspace_bytes"].get<std::int64_t>();
  if (const auto training = run.find("training"); training != run.end()) {
    cell.workspace_peak_bytes = run["peak_bytes"].get<std::int64_t>();  // all that is held
    cell.predicted_peak_bytes = training->at("predicted_bytes").get<std::int64_t>();
  }
  cell.ran.clear();
  for (const Json& entry : run["engaged"])
    cell.ran.push_back({entry["stage"].get<std::string>(), entry["variant"].get<std::string>()});
}

Json visit(const Settings& settings, const MeasureOptions& o, Cell& cell) {
  const Captured done =
      run_captured(run_command(settings, o, cell.asked),
                   {cell.asked.variables.begin(), cell.asked.variables.end()}, o.timeout_s);
  if (done.timed_out) {
    cell.status = Status::timeout;
    cell.reason = fmt::format("over {:g} s", o.timeout_s);
    return nullptr;
  }
  if (done.exit_code != 0) {
    cell.status = Status::failed;
    cell.bad_input = done.exit_code == static_cast<int>(ExitCode::bad_input);
    cell.reason = last_line(done.err);
    if (cell.reason.starts_with("nsatune: ")) cell.reason.erase(0, 9);
    if (cell.reason.empty()) cell.reason = fmt::format("exit code {}", done.exit_code);
    return nullptr;
  }
  const Json document = parse_json(done.out, "nsatune run");
  take_document(cell, document);
  return document;
}

std::vector<std::string> run_flags(const MeasureOptions& o, const Asked& asked) {
  std::vector<std::string> flags;
  const auto add = [&](const char* flag, const std::string& value) {
    flags.insert(flags.end(), {flag, value});
  };
  o.config ? add("--config", *o.config) : add("--preset", o.preset);
  if (o.ignore_unknown) flags.push_back("--ignore-unknown");
  if (o.dtype) add("--dtype", *o.dtype);
  // Of all cells, but for one that has the built-in order.
  const bool built_in = std::ranges::find(asked.flags, "--no-thresholds") != asked.flags.end();
  if (o.thresholds && !built_in) add("--thresholds", *o.thresholds);
  add("--seq-len", std::to_string(asked.seq_len));
  add("--batch", std::to_string(asked.batch));
  o.train ? flags.push_back("--train") : add("--warmup", std::to_string(o.warmup));
  add("--steps", std::to_string(o.steps));
  flags.insert(flags.end(), asked.flags.begin(), asked.flags.end());
  return flags;
}

std::vector<std::string> run_command(const Settings& settings, const MeasureOptions& o,
                                     const Asked& asked) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> argv{program, "run", "--json", "--quiet"};
  if (settings.device) argv.insert(argv.end(), {"--device", *settings.device});
  if (settings.db) argv.insert(argv.end(), {"--db", *settings.db});
  const std::vector<std::string> flags = run_flags(o, asked);
  argv.insert(argv.end(), flags.begin(), flags.end());
  return argv;
}

}  // namespace nsa::cli
