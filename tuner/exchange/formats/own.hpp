// What a row of ours has and another program's format has not: an object "nsatune" beside its own
// fields, which its readers pass over. Times stand in the format's fields alone.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nsa/exchange/exchange.hpp"
#include "nsa/schemas/measurement.hpp"
#include "tree.hpp"

namespace nsa::exchange {

inline constexpr const char* kOwnKey = "nsatune";

/// Everything of the row but device_ns of its samples and their statistics.
Tree own_fields(const Measurement& row);
/// Rows of a list of own_fields, whose samples are `device_ns`, one row's after the other's.
/// InputError where they do not fit, or a row is none.
std::vector<Measurement> rows_of_own(const Tree& list, std::span<const std::int64_t> device_ns,
                                     const std::string& where);
/// What the database would refuse is refused here, with a line.
void require_consistent(const Run& run, const std::string& where);
/// A row that was read from JSON: valid, its statistics those of its samples, infinity as it was.
void complete_row(Measurement& row, const std::string& where);
/// One sample, the median, for the raw samples that a file left out; the note says so where there
/// were several. InputError where samples were counted and there is no median.
void stand_in_for_samples(Measurement& row, const std::string& where);
/// {"version": 1, "devices": [...], "runs": [...]}: what stands once in a file.
Tree own_header(const Results& results);
/// Devices and runs of own_header, without rows. Older files have no runs.
Imported heads_of_own(const Tree& header, const std::string& where);

/// Rows of a file of ours whose `entries` each have a list of milliseconds at `times` (a JSON
/// pointer) beside their own_fields.
Imported rows_of_entries(const Tree& header, const Tree& entries, const std::string& times,
                         const std::string& where);
/// Name of the one device of all rows. InputError where there are several: the format holds one.
std::string one_device(const Results& results, const char* format);

/// A problem as texts without commas: its fields in JSON, flat, the same for every problem.
std::vector<std::pair<std::string, std::string>> problem_fields(const Problem& problem);
/// The reverse. InputError on a field that is unknown or no value of it.
Problem problem_of_fields(const std::vector<std::pair<std::string, std::string>>& fields,
                          const std::string& where);

}  // namespace nsa::exchange
