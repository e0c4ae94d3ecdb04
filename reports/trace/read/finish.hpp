#pragma once

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Keeps an operation, or counts it when it has no time.
void add_op(Trace& trace, const GpuOp& op);
/// What every reader does last: operations, calls and ranges in the order of their starts, whatever
/// the order in the file, longer ones first.
void finish(Trace& trace);

}  // namespace nsa::trace
