// Cells of a table, each measured by `nsatune run` in processes of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nsa/run_tables/cell.hpp"
#include "nsa/run_tables/header.hpp"
#include "program.hpp"
#include "run/options.hpp"

namespace nsa::cli {

/// What all cells of a table have in common.
struct MeasureOptions {
  std::string preset = "125m";
  std::optional<std::string> config, dtype, thresholds;
  bool ignore_unknown = false;         // keys of the config
  std::vector<std::int64_t> seq_lens;  // empty: those of the table
  std::int64_t batch = 1;
  int processes = 5;
  std::int64_t warmup = 1, steps = 3;
  double timeout_s = 120;  // of one process
  bool train = false;      // training steps instead of forward passes
  bool reuse = false;      // take what the database has, measure what is missing
};
/// The model that the cells are of, on a device of that back end. InputError as for run.
ModelConfig model_of(const MeasureOptions& options, Backend backend = Backend::cpu);
/// Declares the flags on the command of a table.
void declare(CLI::App& sub, MeasureOptions& options);

struct MeasuredCells {
  run_tables::Subject subject;
  std::vector<run_tables::Cell> cells;
  std::vector<Json> documents;  // of each cell the first process, as `run --json` gives it
};

/// Measures the cells in turn, each round forwards or backwards (A B B A), so that a machine that
/// gets slower over time does not decide. NSA_* variables of this process do not reach the cells.
/// A process that fails or runs out of time is the cell's result and is not tried again.
MeasuredCells measure_cells(const Settings& settings, const MeasureOptions& options,
                            const std::vector<run_tables::Asked>& asked);

}  // namespace nsa::cli
