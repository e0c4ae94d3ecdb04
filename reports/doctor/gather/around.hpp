// What the host was doing around each call of a trace.
#pragma once

#include <string_view>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::doctor {

/// For each call the name of the innermost closed range around its start on its thread, or kNoName.
std::vector<trace::NameId> ranges_around(const trace::Trace& trace);
/// For each call the innermost function of Python around it that is the program's own and not a
/// package's, with its file and line: by with_stack's functions, or by the call stack of an
/// operator around it. Empty where none is known; names are the trace's.
std::vector<std::string_view> functions_around(const trace::Trace& trace);

}  // namespace nsa::doctor
