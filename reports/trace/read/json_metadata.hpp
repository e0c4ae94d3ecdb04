// What stands beside "traceEvents": devices, rank, base time. Unknown keys pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// InputError with `where` and `offset` when a known key has a value of another kind.
void take_metadata(const std::string& key, std::string_view value, const std::string& where,
                   std::uint64_t offset, Trace& trace);

}  // namespace nsa::trace
