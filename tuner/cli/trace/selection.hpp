// What part of a trace `trace summary` is asked about, and which table.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/trace/filter.hpp"

namespace nsa::cli {

/// Options as typed; empty: not given.
struct Selection {
  std::string steps, time, name, stream;
};

/// InputError where a range is none: "3-7" or "3" of steps, "10ms-1.5s" of times.
trace::Filter filter_of(const Selection& selection);
/// The rows of a list of the summary's document: a column for each member, those of objects within
/// as "outer.inner", lists within as JSON. InputError with the lists that there are.
std::string csv_of(const Json& document, const std::string& table);

}  // namespace nsa::cli
