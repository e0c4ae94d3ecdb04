// Clocks, temperature, power and throttling while a run measured, for the plots of the page.
#pragma once

#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// Of the newest run of each device that has rows: a list of {device, run, start, bin_s, rows,
/// throttled: {reasons: rows}, power_limit_w, metrics: {name: [[bin, lowest, median, highest]]},
/// throttled_bins: [[bin, share of its rows]]}. A bin is `bin_s` seconds of the run; a metric that
/// no row has is absent.
Json clocks_json(const store::Store& db, const std::optional<std::string>& device_id);

}  // namespace nsa::cli
