#pragma once

#include <cstdint>
#include <string>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Keeps an operation, or counts it when it has no time.
void add_op(Trace& trace, const GpuOp& op);
/// What every reader does last: operations, calls and ranges in the order of their starts, whatever
/// the order in the file, longer ones first.
void finish(Trace& trace);
/// NVTX ranges of PyTorch's `emit_nvtx` ("aten::mul, seq = 3, op_id = 7, sizes = [[2, 3], []]") as
/// what they are: operators, with the numbers and shapes that their names carry. finish() does it.
void recognise_operators(Trace& trace);
/// Whether a sample's moments are where a trace may have them; readers refuse or leave out others.
bool is_sound(const PythonSample& sample);
/// Adds to all times. InputError when one leaves the range of a trace.
void shift_times(Trace& trace, std::int64_t by_ns, const std::string& where);

/// Calls `visit` with every event of every kind; all have a `process`.
template <class Visit>
void for_each_event(Trace& trace, Visit visit) {
  const auto all = [&](auto&... lists) {
    const auto each = [&](auto& list) {
      for (auto& event : list) visit(event);
    };
    (each(lists), ...);
  };
  all(trace.ops, trace.calls, trace.ranges, trace.python, trace.async_ranges, trace.gpu_ranges,
      trace.flows, trace.instants, trace.overheads, trace.syncs, trace.counters, trace.memory,
      trace.python_samples);
}

}  // namespace nsa::trace
