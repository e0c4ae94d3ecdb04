// How long so many steps take, what they cost, and whether that is a go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/run_tables/cell.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

struct EtaPlan {
  std::int64_t steps = 50'000;
  double limit_hours = 24;                      // that the whole may take
  std::optional<double> price_per_device_hour;  // any currency
  std::int64_t devices = 1;
};

enum class Go : std::uint8_t { go, no_go, not_measured };
/// The enumerator's name.
const char* to_string(Go value) noexcept;

/// All steps in one setting.
struct Eta {
  std::string label, setting;
  std::string direction;                          // "forward", "training"
  std::optional<double> hours;                    // nothing: no time was measured
  std::optional<double> cost;                     // of all devices
  std::optional<double> extra_hours, extra_cost;  // against the first setting
  Go forward = Go::not_measured;                  // of the forward passes alone
  Go training = Go::not_measured;  // no_go where already a part of a step takes too long
  std::string reason;
};

/// Of measured forward passes: the training step holds one, so that their hours are a lower bound.
std::vector<Eta> etas_of(std::span<const Cell> cells, const EtaPlan& plan);
/// Of a rate of training that was measured elsewhere, tokens/s of all devices.
Eta eta_of_training(double tokens_per_s, std::int64_t tokens_per_step, const EtaPlan& plan);

/// A table for the terminal.
std::string eta_table(std::span<const Eta> etas, const EtaPlan& plan, reports::Style style);
/// The `eta` of report_runs.schema.json.
Json eta_json(std::span<const Eta> etas, const EtaPlan& plan);

}  // namespace nsa::run_tables
