#include <map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/steps/recorded_names.hpp"
#include "analyse/sums.hpp"
#include "inferred.hpp"
#include "names.hpp"

namespace nsa::trace {
namespace {

class Classes {
 public:
  int id(std::string_view stage, bool inferred = false) {
    const auto [at, added] =
        ids_.try_emplace({std::string(stage), inferred}, static_cast<int>(names_.size()));
    if (added) {
      names_.emplace_back(stage);
      inferred_.push_back(inferred);
    }
    return at->second;
  }
  std::vector<int> of_names(const NamePool& names) {
    std::vector<int> out;
    for (NameId i = 0; i < names.size(); ++i) {
      const auto stage = stage_of_range(names.text(i));
      out.push_back(stage ? id(*stage) : -1);
    }
    return out;
  }
  /// [names] What ranges say by them.
  std::vector<RangeSays> says(const std::vector<int>& of_name) {
    const int backward = id("backward");
    std::vector<RangeSays> out;
    for (const int c : of_name)
      out.push_back(c < 0                                                    ? RangeSays::nothing
                    : c == backward                                          ? RangeSays::backward
                    : is_stage_of_layer(names_[static_cast<std::size_t>(c)]) ? RangeSays::stage
                                                                             : RangeSays::other);
    return out;
  }
  void move_to(StageClasses& out) {
    out.names = std::move(names_);
    out.inferred = std::move(inferred_);
  }

 private:
  std::map<std::pair<std::string, bool>, int> ids_;
  std::vector<std::string> names_;
  std::vector<char> inferred_;
};

/// [ranges] The classes of inferred stages; empty where there are none.
std::vector<int> inferred_classes(const TraceContext& context, const std::vector<RangeSays>& says,
                                  Classes& classes) {
  std::vector<int> out;
  for (const LayerStage stage : inferred_stages(context.trace, context.tree, says))
    out.push_back(stage == LayerStage::none ? -1 : classes.id(to_text(stage), true));
  return out;
}

/// Ranges with no class of their own that hold a step or an optimizer say nothing of what is in
/// them.
std::vector<char> around_steps(const TraceContext& context, const std::vector<int>& of_name,
                               int optimizer) {
  const Trace& trace = context.trace;
  std::vector<char> out(trace.ranges.size(), 0), is_inner(trace.names.size());
  const RecordedNames recorded(trace, kStepsRecorded);
  for (NameId name = 0; name < trace.names.size(); ++name) {
    const std::string& text = trace.names.text(name);
    is_inner[name] = of_name[name] == optimizer || is_step_name(text) ||
                     (of_name[name] < 0 && recorded.hold(name_of_steps(text)));
  }
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {
    if (!is_inner[trace.ranges[r].name]) continue;
    for_each_around(context.tree, r, [&](std::uint32_t around) { out[around] = 1; });
  }
  return out;
}

/// [ranges] The class of work in ranges that are no stage: what was inferred; what an annotation
/// calls it; loading of data; else, of operators that are in nothing else, the forward pass.
std::vector<int> other_classes(const TraceContext& context, const std::vector<int>& of_name,
                               const std::vector<int>& inferred, Classes& classes) {
  const Trace& trace = context.trace;
  const std::vector<char> outer = around_steps(context, of_name, classes.id("optimizer"));
  const int forward = classes.id("forward"), data = classes.id("data loading");
  std::vector<char> is_data;
  for (NameId name = 0; name < trace.names.size(); ++name)
    is_data.push_back(loads_data(trace.names.text(name)));
  std::vector<int> out(trace.ranges.size(), -1);
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {
    const HostRange& range = trace.ranges[r];
    const int around = context.tree.parent[r] == kNone ? -1 : out[context.tree.parent[r]];
    if (range.open || outer[r]) {
      out[r] = around;
    } else if (!inferred.empty() && inferred[r] >= 0) {
      out[r] = inferred[r];
    } else if (of_name[range.name] >= 0) {
      out[r] = of_name[range.name];
    } else if (is_data[range.name]) {
      out[r] = data;
    } else if (range.kind == RangeKind::cpu_op) {
      out[r] = around >= 0 ? around : forward;
    } else {
      out[r] = classes.id(stage_of_annotation(trace.names.text(range.name)));
    }
  }
  return out;
}

std::vector<StageRow> rows_of(const StageClasses& classes) {
  std::vector<StageRow> rows;
  for (std::size_t c = 0; c < classes.names.size(); ++c) {
    StageRow row;
    row.stage = classes.names[c];
    if (const auto parent = parent_of_stage(row.stage)) row.parent = *parent;
    if (classes.inferred[c]) row.backward_ns = 0;
    rows.push_back(row);
  }
  return rows;
}

/// [ops] Whether they were launched within the backward pass.
std::vector<char> ops_in_backward(const TraceContext& context, const std::vector<RangeSays>& says) {
  std::vector<char> out(context.trace.ops.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i)
    for_each_around(context.tree, context.tree.of_op[i], [&](std::uint32_t range) {
      out[i] |= says[context.trace.ranges[range].name] == RangeSays::backward;
    });
  return out;
}

}  // namespace

StageClasses stage_classes(const TraceContext& context) {
  const Trace& trace = context.trace;
  Classes classes;
  const int communication = classes.id(kCommunication);
  const std::vector<int> of_name = classes.of_names(trace.names);
  StageClasses out;
  const std::vector<RangeSays> says = classes.says(of_name);
  const std::vector<int> inferred = inferred_classes(context, says, classes);
  out.of_call = innermost_class(trace, of_name, inferred);
  const std::vector<int> other = other_classes(context, of_name, inferred, classes);
  for (std::size_t i = 0; i < trace.calls.size(); ++i)
    if (out.of_call[i] < 0 && context.tree.of_call[i] != kNone)
      out.of_call[i] = other[context.tree.of_call[i]];
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    int found = -1;
    if (context.is_comm(i)) {
      found = communication;
    } else if (op.stage != kNoName) {
      found = of_name[op.stage];
      if (found < 0) found = classes.id(stage_of_annotation(trace.names.text(op.stage)));
    } else if (context.launch[i] != kNone) {
      found = out.of_call[context.launch[i]];
    } else if (context.tree.of_op[i] != kNone) {
      found = other[context.tree.of_op[i]];
    }
    out.of_op.push_back(found);
  }
  classes.move_to(out);
  if (!inferred.empty()) out.op_in_backward = ops_in_backward(context, says);
  return out;
}

std::string stage_text(const std::string& stage, bool inferred) {
  return inferred ? stage + " (inferred)" : stage;
}

std::string StageClasses::text(std::size_t c) const {
  return stage_text(names[c], inferred[c] != 0);
}

namespace {

/// [classes] Idle time of the devices by the operation that ended it; the last is of no class.
std::vector<std::int64_t> idle_before(const TraceContext& context, const StageClasses& classes) {
  std::vector<std::int64_t> out(classes.names.size() + 1, 0);
  std::map<DeviceKey, std::int64_t> busy_until;
  for (std::size_t i = 0; i < context.trace.ops.size(); ++i) {  // in order of start
    const GpuOp& op = context.trace.ops[i];
    std::int64_t& until =
        busy_until.try_emplace({context.trace.part_of(op.process), op.device}, op.start_ns)
            .first->second;
    const int c = classes.of_op[i];
    if (op.start_ns > until)
      add_to(c < 0 ? out.back() : out[static_cast<std::size_t>(c)], op.start_ns - until);
    until = std::max(until, op.end_ns);
  }
  return out;
}

}  // namespace

void add_stages(const TraceContext& context, const StageClasses& classes, Summary& out) {
  const Trace& trace = context.trace;
  std::vector<StageRow> rows = rows_of(classes);
  std::vector<std::map<DeviceKey, std::vector<Interval>>> times(rows.size());
  std::int64_t unattributed = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    if (classes.of_op[i] < 0) {
      add_to(unattributed, op.end_ns - op.start_ns);
      continue;
    }
    const auto c = static_cast<std::size_t>(classes.of_op[i]);
    ++rows[c].ops;
    rows[c].kernels += op.kind == OpKind::kernel;
    add_to(rows[c].total_ns, op.end_ns - op.start_ns);
    if (rows[c].backward_ns && classes.op_in_backward[i])
      add_to(*rows[c].backward_ns, op.end_ns - op.start_ns);
    times[c][{trace.part_of(op.process), op.device}].push_back({op.start_ns, op.end_ns});
  }
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    if (classes.of_call[i] < 0 || context.wait[i] == WaitKind::none) continue;
    StageRow& row = rows[static_cast<std::size_t>(classes.of_call[i])];
    ++row.host_syncs;
    add_to(row.host_sync_ns, call.end_ns - call.start_ns);
  }
  if (trace.one_time_line()) {
    for (std::size_t c = 0; c < rows.size(); ++c) {
      rows[c].busy_ns = 0;
      for (auto& [device, of_device] : times[c])
        add_to(*rows[c].busy_ns, length(union_of(std::move(of_device))));
    }
    const std::vector<std::int64_t> idle = idle_before(context, classes);
    for (std::size_t c = 0; c < rows.size(); ++c) rows[c].idle_ns = idle[c];
    out.unattributed_idle_ns = idle.back();
  } else {
    for (const char* key : {"stages.busy_ns", "stages.idle_ns", "unattributed_idle_ns"})
      out.null_reasons[key] = trace.source.clocks->assumption;
  }
  std::erase_if(rows, [](const StageRow& row) { return row.ops == 0 && row.host_syncs == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const StageRow& a, const StageRow& b) { return a.total_ns > b.total_ns; });
  out.stages = std::move(rows);
  out.unattributed_ns = unattributed;
}

}  // namespace nsa::trace
