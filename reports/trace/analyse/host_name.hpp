#pragma once

#include <string>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// The machine that was recorded; empty where the trace does not say, or holds several.
std::string host_name(const Trace& trace);

}  // namespace nsa::trace
