// What all analyses of one trace share, computed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "host_tree.hpp"
#include "intervals.hpp"
#include "nsa/trace/model.hpp"
#include "nsa/trace/summary.hpp"
#include "nsa/trace/waits.hpp"

namespace nsa::trace {

using OpIndices = std::vector<std::uint32_t>;  // into Trace::ops, in order of start

class HostAt;
class PythonLines;

struct TraceContext {
  explicit TraceContext(const Trace& of);
  ~TraceContext();

  const Trace& trace;
  std::vector<std::uint32_t> launch;  // [ops] index of the launch call, kNone = unknown
  HostTree tree;
  std::vector<char> is_comm_kernel;  // [names] of kernels that move data between GPUs
  std::vector<char> is_comm_op;      // [ops] those, copies between GPUs and copies of Gloo
  std::vector<WaitKind> wait;        // [calls] what the host waits for in it
  /// [processes] When the recorder was at work, and when CUDA was on its own account.
  std::vector<IntervalSet> overheads, own;
  std::unique_ptr<const HostAt> host;        // what each thread did
  std::unique_ptr<const PythonLines> lines;  // where in Python the host was

  bool is_comm(std::uint32_t op) const { return is_comm_op[op] != 0; }
  /// Whether the launch of a graph started it; a graph that was recorded as a whole has no nodes.
  bool is_graph_node(std::uint32_t op) const {
    return trace.ops[op].kind != OpKind::graph &&
           (trace.ops[op].graph_node != 0 || trace.ops[op].graph != 0);
  }
};

using DeviceKey = std::pair<std::uint32_t, std::int32_t>;  // part, device
std::map<DeviceKey, OpIndices> ops_by_device(const TraceContext& context, const OpIndices& ops);
/// All of a trace, in order of start.
OpIndices all_ops(const Trace& trace);

/// Figures of some operations, at least one. Times are taken for each device alone and added up,
/// since work of one GPU hides nothing of another one's; the span is from the first start to the
/// last end of all.
GpuSums sums_of(const TraceContext& context, const OpIndices& ops);
GpuFigures figures_of(const TraceContext& context, const OpIndices& ops);
/// The same of devices whose figures are known, at least one; counts are of all their operations.
GpuFigures figures_together(const GpuSums& sums, const std::vector<GpuFigures>& devices);
/// The same of operations of one device.
GpuFigures figures_on_device(const TraceContext& context, const OpIndices& ops);
/// Splits the time between the operations of one device by cause: sums over for_each_gap().
IdleClasses classify_idle(const TraceContext& context, const OpIndices& ops);

}  // namespace nsa::trace
