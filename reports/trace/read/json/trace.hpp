#pragma once

#include <string>

#include "nsa/trace/model.hpp"
#include "read/byte_source.hpp"

namespace nsa::trace {

/// A Chrome trace out of unpacked JSON text. InputError "<where>: byte <offset>: <what>".
/// `window_bytes`: how much of it is looked at at once, unless a single value is larger.
Trace read_json(ByteSource& source, const std::string& where, std::size_t window_bytes);

}  // namespace nsa::trace
