// A cell of a table over whole forward passes: what `nsatune run` was asked, and what it measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nsa::run_tables {

/// What is asked of `nsatune run` for one cell.
struct Asked {
  std::string label;                                           // "v1"
  std::int64_t seq_len = 0;                                    // tokens
  std::int64_t batch = 1;                                      // sequences
  std::vector<std::pair<std::string, std::string>> variables;  // NSA_* of the process
  std::vector<std::string> flags;                              // of `run`, beside the shape
};

enum class Status : std::uint8_t { ok, timeout, failed, not_measured };
/// The enumerator's name.
const char* to_string(Status value) noexcept;

/// A variant that ran, and the stages that it covers, joined with '+'.
struct Ran {
  std::string stages, variant;
  bool operator==(const Ran&) const = default;
};

struct Cell {
  Asked asked;
  Status status = Status::not_measured;
  std::string reason;      // why there are no times
  bool bad_input = false;  // what it asks for cannot be, on any machine
  /// Median step of each round's process, ns; nothing where that round has none.
  std::vector<std::optional<double>> process_ns;
  std::int64_t tokens_per_step = 0;
  std::int64_t workspace_peak_bytes = 0;                  // of training: of all that is held
  std::optional<std::int64_t> predicted_peak_bytes = {};  // of training
  double flop_per_step = 0;
  std::vector<Ran> ran;
};

/// A value with its 95 % interval; no interval from one process alone.
struct Estimate {
  double value = 0;
  std::optional<std::pair<double, double>> interval = {};
};

/// exp of the mean of `logs` with Student's interval; nothing from nothing.
std::optional<Estimate> log_mean(std::span<const double> logs);

/// Step time, ns: the geometric mean over processes of their medians.
std::optional<Estimate> step_ns(const Cell& cell);
/// New tokens per second.
std::optional<Estimate> tokens_per_s(const Cell& cell);
/// Its tokens per second over those of `base`, paired by round; nothing where no round has both.
std::optional<Estimate> speedup(const Cell& cell, const Cell& base);

/// "NSA_SEL_RANGES_V2=0 --branches cmp": what to type to get the cell; empty = nothing special.
std::string setting_text(const Asked& asked);
/// The cell of that label and length, or nullptr.
const Cell* find_cell(std::span<const Cell> cells, const std::string& label, std::int64_t seq_len);

}  // namespace nsa::run_tables
