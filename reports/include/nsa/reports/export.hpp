// Results for other programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/measurement.hpp"

namespace nsa::reports {

/// A header and one line a measurement: its fields (nsa/schemas/fields), whose meaning the data
/// dictionary has (schemas/README.md), and what its run says where that is among `runs`. Quoting
/// of RFC 4180, lines end in '\n', an absent value is an empty cell, lists are joined with ';'.
std::string measurements_csv(const std::vector<Measurement>& rows, std::span<const Run> runs = {});
/// A header and one line a sample; `measurement_id` refers to the other file.
std::string samples_csv(const std::vector<Measurement>& rows);
/// A document of export_results.schema.json.
Json measurements_json(const std::vector<Measurement>& rows, std::span<const Run> runs = {},
                       const std::string& exported_by = {});
/// A cell of RFC 4180: in quotes where it holds a quote, a comma or a line break.
std::string csv_cell(std::string_view text);

}  // namespace nsa::reports
