// The tables that commands print.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::reports {

/// Whether a variant is measured for comparison only: "slow path", "baseline", or "" for one that
/// may be chosen.
using RoleOf = std::function<std::string(const Measurement&)>;
/// The role by the catalog of this build on the back end that was measured: a candidate of the CPU
/// may be a slow path on a GPU. Foreign variants may be chosen.
std::string role_in_catalog(const Measurement& row);
/// Whether a decision from these rows takes this variant for the row's problem.
using ChosenOf = std::function<bool(const Measurement&)>;

/// "2048", "4x2048", "300+500" for a ragged batch, "1 after 8192" with a cache.
std::string length_text(const Problem& problem);

/// What a sweep found: for each class and stage a block, in it each problem with its variants, the
/// fastest first: median, spread, ratio to the best with its 95 % interval, and what is wrong with
/// a row. '*' marks what `chosen` takes; without it the best verified candidate of each problem.
/// Rows without samples do.
std::string results_table(const std::vector<Measurement>& rows, Style style,
                          const RoleOf& role = role_in_catalog, const ChosenOf& chosen = {});
/// The same as the `results` of sweep_result.schema.json.
Json results_json(const std::vector<Measurement>& rows, const RoleOf& role = role_in_catalog,
                  const ChosenOf& chosen = {});

/// Every range with its evidence, the break-even length and the flat view, class by class.
std::string thresholds_table(const ThresholdTable& table, Style style);
/// Devices with what is known of each, then libraries with their versions, or why they are not
/// usable.
std::string devices_table(std::span<const Device> devices, std::span<const Capability> libraries,
                          Style style);
/// Two lines: what a run could use, with versions, and what it could not, with reasons.
std::string libraries_text(std::span<const Capability> libraries);
/// `rows`: the array `variants` of variants.schema.json.
std::string variants_table(const Json& rows, Style style);

}  // namespace nsa::reports
