// What the host was doing around each call of a trace.
#pragma once

#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::doctor {

/// For each call the name of the innermost closed range around its start on its thread, or kNoName.
std::vector<trace::NameId> ranges_around(const trace::Trace& trace);

}  // namespace nsa::doctor
