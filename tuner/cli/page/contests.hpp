// The variants that compete on the same problems, length by length, for the plots of the page.
#pragma once

#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// Of the newest run of each device: a list of {device, run, day, stages, class, how, axis,
/// lengths, variants: [{name, slope, cells: [[length, median_ns, ratio, low, high, flop, bytes,
/// workspace_bytes]]}], ranges: [[from, to, variant]], ceilings}, where ratio is to the fastest
/// variant at that length, over the rounds that measured both, with a 95 % interval. A contest has
/// two lengths or more. `ranges` are those of `table`. `ceilings` are {flop_per_s, bytes_per_s},
/// each [rate, who reached it]: the highest of the run, of that dtype and of rows as cold or warm,
/// and the matrix rate that `nsatune run` measured on the device.
Json contests_json(const store::Store& db, const std::optional<std::string>& device_id,
                   const std::optional<ThresholdTable>& table);

}  // namespace nsa::cli
