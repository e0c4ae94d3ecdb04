// How times grow with the length, and an alarm where they grow too fast.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// time ~ length^slope is linear at 1; NSA's compressed branch, which is quadratic, brings a whole
/// step a little above it at long lengths.
inline constexpr double kScalingAlarm = 1.3;

/// One variant of one contest, or one setting of whole forward passes.
struct ScalingRow {
  std::string device, subject, variant;  // subject: stages and class, or the model
  std::string axis;                      // "seq_len", "context_len"
  std::int64_t shortest = 0, longest = 0, lengths = 0;
  std::optional<double> slope, low, high;  // 95 %; nothing for fewer than three lengths
};

/// The whole interval of the slope is above kScalingAlarm.
bool alarms(const ScalingRow& row) noexcept;
/// A table for the terminal.
std::string scaling_table(std::span<const ScalingRow> rows, reports::Style style);
/// The `scaling` of report_runs.schema.json.
Json scaling_json(std::span<const ScalingRow> rows);

}  // namespace nsa::run_tables
