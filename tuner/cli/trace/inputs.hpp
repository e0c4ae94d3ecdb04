// Which traces a command line names.
#pragma once

#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::cli {

/// Files as they are named; of a folder the traces in it, by name, but for the merged view and the
/// spools that `trace record` leaves beside them. InputError where a file is named twice or a
/// folder holds no trace.
std::vector<std::string> trace_files(const std::vector<std::string>& names);
/// All of them. With several, InputError for one that holds several recordings already: its events
/// would count twice.
std::vector<trace::Trace> read_traces(const std::vector<std::string>& files);

}  // namespace nsa::cli
