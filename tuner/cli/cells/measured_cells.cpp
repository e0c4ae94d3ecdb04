#include "measured_cells.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cell_process.hpp"
#include "device_choice.hpp"
#include "files/database_wait.hpp"
#include "known_cells.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/store/store.hpp"

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

bool failed(const Cell& cell) {
  return cell.status == Status::timeout || cell.status == Status::failed;
}

/// As many processes of each cell as are asked for, from the database.
void take_known(const std::vector<std::vector<Json>>& known, const MeasureOptions& o,
                MeasuredCells& measured) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (const Json& document : known[i]) {
      Cell& cell = measured.cells[i];
      if (static_cast<int>(cell.process_ns.size()) >= o.processes) break;
      take_document(cell, document);
      measured.documents[i] = document;
    }
  }
}

/// What is wrong with the input of every cell is wrong with the command: one line instead of a
/// table of them. What this machine has no memory for is a row.
void refuse_what_all_refused(const std::vector<Cell>& cells) {
  if (cells.empty()) return;
  for (const Cell& cell : cells) {
    if (!cell.bad_input || cell.reason != cells.front().reason) return;
  }
  throw InputError(cells.front().reason);
}

}  // namespace

ModelConfig model_of(const MeasureOptions& options, Backend backend) {
  RunOptions run;
  run.preset = options.preset;
  run.config = options.config;
  run.ignore_unknown = options.ignore_unknown;
  run.dtype = options.dtype;
  return make_run_plan(run, backend).config;
}

void declare(CLI::App& sub, MeasureOptions& o) {
  CLI::Option* preset =
      sub.add_option("--preset", o.preset, "Model that is built in (default: 125m)")
          ->check(has_values(model_preset_names()));
  declare_config(sub, o.config, o.ignore_unknown, "Your model: YAML, as for run")->excludes(preset);
  sub.add_option("--seq-lens", o.seq_lens, "Lengths in tokens: 512,2k or 512:8k:x2")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  sub.add_option("--batch", o.batch, "Sequences (default 1)")
      ->check(CLI::Range(std::int64_t{1}, kMaxProblemBatch));
  sub.add_option("--dtype", o.dtype, "As for run")->check(has_values(dtype_names()));
  sub.add_option("--thresholds", o.thresholds, "Thresholds file, as for run");
  sub.add_option("--processes", o.processes,
                 "Fresh processes for each cell (default 5); a single one gives no interval")
      ->check(CLI::Range(1, 1000));
  sub.add_option("--warmup", o.warmup, "Untimed steps of each process, first (default 1)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  sub.add_option("--steps", o.steps, "Timed steps of each process (default 3)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  sub.add_flag("--reuse", o.reuse,
               "Use results in the database that this build measured on this device with the same "
               "command and switches");
  sub.add_option("--timeout", o.timeout_s, "Time limit of each process, in seconds (default 120)")
      ->check(number_in(0.001, 1e6));
}

MeasuredCells measure_cells(const Settings& settings, const MeasureOptions& options,
                            const std::vector<Asked>& asked) {
  // One line for what cannot be, before any process.
  model_of(options);
  Settings unsaid = settings;
  unsaid.quiet = true;  // the processes choose the device, and what is to be said of that
  const Device device = chosen_device(unsaid);
  if (options.thresholds) find_thresholds(options.thresholds, device);
  store::Store::open(settings.db_path(), wait_aloud(settings));  // where each process keeps its row
  drop_switches();
  MeasuredCells measured;
  for (const Asked& one : asked)
    measured.cells.push_back({.asked = one, .reason = "", .process_ns = {}, .ran = {}});
  measured.documents.resize(asked.size());
  if (options.reuse) take_known(known_documents(settings, options, asked), options, measured);
  for (int round = 0; round < options.processes; ++round) {
    for (std::size_t turn = 0; turn < asked.size(); ++turn) {
      const std::size_t i = round % 2 == 0 ? turn : asked.size() - 1 - turn;
      Cell& cell = measured.cells[i];
      if (failed(cell) || static_cast<int>(cell.process_ns.size()) > round) continue;
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
