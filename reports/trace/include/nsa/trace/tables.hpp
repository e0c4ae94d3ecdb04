// Rows of the tables that say what time went to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/trace/python_lines.hpp"

namespace nsa::trace {

/// Copies of one way between one kind of memory of the host and devices; memsets.
struct CopyRow {
  std::string kind;                   // HtoD, DtoH, DtoD, PtoP, HtoH, memset, other
  std::optional<std::string> memory;  // pageable, pinned, managed, device; absent: not recorded
  std::int64_t count = 0, bytes = 0, total_ns = 0;
  std::optional<double> median_gb_per_s, best_gb_per_s;  // absent: no bytes were recorded
};

/// CopyRow::kind of a copy, by what its recorder calls it.
std::string_view copy_kind(std::string_view name);

/// One kind of inputs of an operator.
struct OperatorShape {
  std::string inputs;  // as recorded: [[8, 1024], [1024, 4096]]
  std::int64_t count = 0, gpu_ns = 0;
};

/// Operators of one name. With children is what operators within them took too.
struct OperatorRow {
  std::string name;
  std::int64_t count = 0;
  std::int64_t host_ns = 0, host_self_ns = 0;  // with children; alone
  std::int64_t gpu_ns = 0, gpu_self_ns = 0;    // of what they launched: with children; alone
  std::int64_t gpu_ops = 0;                    // launched by themselves
  std::optional<double> flop;         // of products and attention, where shapes were recorded
  std::vector<OperatorShape> shapes;  // those with most GPU time; empty: not recorded
};

/// Annotations or NVTX ranges of one name that launched something; steps are one row.
struct AnnotationRow {
  std::string name;
  std::int64_t count = 0, host_ns = 0;
  /// Sum of what was launched while they were open: by their thread, or by autograd's in the
  /// backward pass of their thread.
  std::int64_t gpu_ns = 0;
  std::int64_t projected_ns = 0;  // from the first start to the last end of that, of each range
  std::int64_t backward_ns = 0;   // of the backward of operators in them, launched after their end
};

/// A module (`nn.Module`) of one name.
struct ModuleRow {
  std::string name;
  std::int64_t count = 0, host_ns = 0;       // calls of it, and the time in them
  std::int64_t gpu_ns = 0, gpu_self_ns = 0;  // of the forward pass: with and without modules within
  std::int64_t backward_ns = 0;              // of its operators' backward, with modules within
};

/// What the host did while a GPU was idle.
struct GapCause {
  /// launch_pending; api, allocation, data_loading, operator, annotation, python (`name` says
  /// which); nothing_recorded; launch_unknown; cuda_own (modules, a full queue); profiler.
  std::string what, name;
  std::string idle_class;              // as the members of IdleClasses
  std::int64_t count = 0;              // gaps that it had a part in; of a part of one gap: 0
  std::int64_t total_ns = 0;           // its time in them
  std::int64_t samples = 0;            // of Python's stack in that time
  std::vector<PythonLine> lines = {};  // that have most of them
};

/// What follows "while the host": "was in aten::item". `name` is the cause's, fit to be shown.
std::string host_did(const GapCause& cause, const std::string& name);

/// Idle time of one device between two operations.
struct GapRow {
  std::int32_t device = 0;
  std::uint32_t part = 0;
  std::int64_t start_ns = 0, duration_ns = 0;
  std::string what, name;              // of the largest part, as GapCause
  std::string ends_with;               // the operation after it
  std::vector<GapCause> parts;         // the largest few
  std::int64_t samples = 0;            // of Python's stack in it
  std::vector<PythonLine> lines = {};  // that have most of them
};

/// A line of Python in idle time of one class.
struct GapLine {
  bool operator==(const GapLine&) const = default;
  PythonLine at;
  std::string idle_class;  // as GapCause
};

struct Gaps {
  std::vector<GapRow> longest;   // longest first
  std::vector<GapCause> causes;  // of all gaps, which add up to the idle time; largest first
  std::int64_t samples = 0;      // of Python's stack in idle time
  std::vector<GapLine> lines;    // all lines that have some, the most first
};

/// Launches that wait for a device: their calls have begun, and nothing of them has. A graph is
/// one.
struct QueueRow {
  std::int32_t device = 0;
  std::uint32_t part = 0;
  std::int64_t launches = 0;  // of which the call was recorded
  std::int64_t most = 0;      // that waited at once
  std::int64_t empty_ns = 0;  // of the device's span: nothing waited
  std::int64_t bin_ns = 0;    // the span in equal parts, the last may be shorter
  std::vector<double> means;  // [parts] how many waited
  double mean = 0;            // of the whole span
};

/// What made the worst step longer than the median of all.
struct StepCause {
  std::string what;  // compute, exposed_comm, copies, host_wait, sync, ..., before_next_step
  std::int64_t more_ns = 0;
};

/// Of all steps, from begin to begin: on the device's line where every step has work there, else on
/// the host.
struct StepTimes {
  std::int64_t count = 0, median_ns = 0, p95_ns = 0, worst_ns = 0;
  std::size_t worst = 0;  // into Summary::steps
  bool on_device = false;
  std::vector<StepCause> causes;  // largest first; of the worst step
};

}  // namespace nsa::trace
