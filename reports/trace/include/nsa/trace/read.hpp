// Reads a trace whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Chrome trace JSON (PyTorch's Kineto, ours), plain or gzip, an SQLite export of Nsight Systems,
/// or a spool of our tracer; which of them is decided by the first bytes. InputError with the byte
/// offset (of the unpacked text) or the table.
Trace read_trace(const std::string& path);
/// The same for JSON, plain or gzip, that is in memory already.
Trace read_json_trace(std::string_view bytes, const std::string& where);
/// The same for a spool that is in memory already. One of a killed program is read as far as it
/// goes, and says so in its totals.
Trace read_spool_trace(std::string_view bytes, const std::string& where);
/// The same for an SQLite export of Nsight Systems.
Trace read_nsys_trace(const std::string& path);

}  // namespace nsa::trace
