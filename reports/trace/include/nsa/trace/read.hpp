// Reads a trace whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Chrome trace JSON (PyTorch's Kineto, ours), plain or gzip, or an SQLite export of Nsight
/// Systems; which of them is decided by the first bytes. InputError with the byte offset (of the
/// unpacked text) or the table.
Trace read_trace(const std::string& path);
/// The same for JSON, plain or gzip, that is in memory already.
Trace read_json_trace(std::string_view bytes, const std::string& where);
/// The same for an SQLite export of Nsight Systems.
Trace read_nsys_trace(const std::string& path);

}  // namespace nsa::trace
