// What all analyses of one trace share, computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "intervals.hpp"
#include "nsa/trace/model.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

using OpIndices = std::vector<std::uint32_t>;  // into Trace::ops, in order of start

struct Context {
  explicit Context(const Trace& of);

  const Trace& trace;
  std::vector<std::uint32_t> launch;  // [ops] index of the launch call, kNone = unknown
  std::vector<char> is_comm_name;     // [names] NCCL and RCCL
  std::vector<char> is_sync_name;     // [names] calls in which the host waits
  IntervalSet syncs, overheads;

  bool is_comm(const GpuOp& op) const {
    return op.kind == OpKind::kernel && is_comm_name[op.name] != 0;
  }
};

/// Figures of some operations, at least one.
GpuSums sums_of(const Context& context, const OpIndices& ops);
GpuFigures figures_of(const Context& context, const OpIndices& ops);
/// Splits the time between the operations by cause; `gaps` is that time.
IdleClasses classify_idle(const Context& context, const OpIndices& ops, const IntervalSet& gaps);

}  // namespace nsa::trace
