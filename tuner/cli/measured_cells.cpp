#include "measured_cells.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "captured_process.hpp"
#include "nsa/reports/text_table.hpp"

extern char** environ;

namespace nsa::cli {
namespace {

using run_tables::Asked;
using run_tables::Cell;
using run_tables::Status;

/// A cell says by itself which switches it has.
void drop_switches() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("NSA_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t before = text.rfind('\n', end);
  return text.substr(before + 1, end - before);  // npos + 1 is 0
}

void take_document(Cell& cell, const Json& run) {
  cell.status = Status::ok;
  cell.process_ns.back() = run["median_step_ns"].get<double>();
  cell.tokens_per_step = run["tokens_per_step"].get<std::int64_t>();
  cell.flop_per_step = run["flop_per_step"].get<double>();
  cell.workspace_peak_bytes = run["telemetry"]["peak_workspace_bytes"].get<std::int64_t>();
  cell.ran.clear();
  for (const Json& entry : run["engaged"])
    cell.ran.push_back({entry["stage"].get<std::string>(), entry["variant"].get<std::string>()});
}

/// One process of a cell; nothing where it failed, which the cell then says.
Json visit(const Settings& settings, const MeasureOptions& o, Cell& cell) {
  const Captured done =
      run_captured(run_command(settings, o, cell.asked),
                   {cell.asked.variables.begin(), cell.asked.variables.end()}, o.timeout_s);
  cell.process_ns.emplace_back();
  if (done.timed_out) {
    cell.status = Status::timeout;
    cell.reason = fmt::format("over {:g} s", o.timeout_s);
    return nullptr;
  }
  if (done.exit_code != 0) {
    cell.status = Status::failed;
    cell.reason = last_line(done.err);
    if (cell.reason.starts_with("nsatune: ")) cell.reason.erase(0, 9);
    if (cell.reason.empty()) cell.reason = fmt::format("exit code {}", done.exit_code);
    return nullptr;
  }
  const Json document = parse_json(done.out, "nsatune run");
  take_document(cell, document);
  return document;
}

bool failed(const Cell& cell) {
  return cell.status == Status::timeout || cell.status == Status::failed;
}

/// What is wrong with every cell is wrong with the command: one line instead of a table of them.
void refuse_what_all_refused(const std::vector<Cell>& cells) {
  if (cells.empty()) return;
  for (const Cell& cell : cells) {
    if (cell.status != Status::failed || cell.reason != cells.front().reason) return;
  }
  throw InputError(cells.front().reason);
}

}  // namespace

ModelConfig model_of(const MeasureOptions& options) {
  RunOptions run;
  run.preset = options.preset;
  run.config = options.config;
  return make_run_plan(run, Backend::cpu).config;
}

void declare(CLI::App& sub, MeasureOptions& o) {
  CLI::Option* preset =
      sub.add_option("--preset", o.preset, "125m (default), tiny, layer, paper-layer");
  sub.add_option("--config", o.config, "A model of yours: YAML, as for run")->excludes(preset);
  sub.add_option("--seq-lens", o.seq_lens, "Lengths in tokens: 512,2048")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  sub.add_option("--batch", o.batch, "Sequences (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}));
  sub.add_option("--dtype", o.dtype, "As for run");
  sub.add_option("--thresholds", o.thresholds, "Thresholds file, as for run");
  sub.add_option("--processes", o.processes,
                 "Fresh processes of each cell (default 5); one gives no interval")
      ->check(CLI::Range(1, 1000));
  sub.add_option("--warmup", o.warmup, "Steps of a process that are not counted (default 1)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  sub.add_option("--steps", o.steps, "Steps that are (default 3)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  sub.add_option("--timeout", o.timeout_s, "Seconds of one process (default 120)")
      ->check(CLI::Range(0.001, 1e6));
}

std::vector<std::string> run_command(const Settings& settings, const MeasureOptions& o,
                                     const Asked& asked) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> argv{program, "run", "--json", "--quiet"};
  const auto add = [&](const char* flag, const std::string& value) {
    argv.insert(argv.end(), {flag, value});
  };
  if (o.config) {
    add("--config", *o.config);
  } else {
    add("--preset", o.preset);
  }
  if (settings.device) add("--device", *settings.device);
  if (settings.db) add("--db", *settings.db);
  if (o.dtype) add("--dtype", *o.dtype);
  if (o.thresholds) add("--thresholds", *o.thresholds);
  add("--seq-len", std::to_string(asked.seq_len));
  add("--batch", std::to_string(asked.batch));
  add("--warmup", std::to_string(o.warmup));
  add("--steps", std::to_string(o.steps));
  argv.insert(argv.end(), asked.flags.begin(), asked.flags.end());
  return argv;
}

MeasuredCells measure_cells(const Settings& settings, const MeasureOptions& options,
                            const std::vector<Asked>& asked) {
  model_of(options);  // one line for a model that cannot be, before any process
  drop_switches();
  MeasuredCells measured;
  for (const Asked& one : asked)
    measured.cells.push_back({.asked = one, .reason = "", .process_ns = {}, .ran = {}});
  measured.documents.resize(asked.size());
  for (int round = 0; round < options.processes; ++round) {
    for (std::size_t turn = 0; turn < asked.size(); ++turn) {
      const std::size_t i = round % 2 == 0 ? turn : asked.size() - 1 - turn;
      Cell& cell = measured.cells[i];
      if (failed(cell)) continue;
      say(settings, fmt::format("round {} of {}: S {} B {} {}", round + 1, options.processes,
                                cell.asked.seq_len, cell.asked.batch, cell.asked.label));
      const Json document = visit(settings, options, cell);
      if (document.is_object() && measured.documents[i].is_null()) measured.documents[i] = document;
    }
    if (round == 0) refuse_what_all_refused(measured.cells);
  }
  for (const Json& document : measured.documents) {
    if (!document.is_object()) continue;
    measured.subject = run_tables::subject_of(document);
    break;
  }
  measured.subject.processes = options.processes;
  measured.subject.steps = options.steps;
  return measured;
}

}  // namespace nsa::cli
