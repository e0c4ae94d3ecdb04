#include <map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "names.hpp"

namespace nsa::trace {
namespace {

class Classes {
 public:
  int id(std::string_view stage) {
    const auto [at, added] = ids_.try_emplace(std::string(stage), static_cast<int>(names_.size()));
    if (added) names_.emplace_back(stage);
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
  std::vector<std::string> names() { return std::move(names_); }

 private:
  std::map<std::string, int> ids_;
  std::vector<std::string> names_;
};

/// Ranges with no class of their own that hold a step or an optimizer say nothing of what is in
/// them.
std::vector<char> around_steps(const TraceContext& context, const std::vector<int>& of_name,
                               int optimizer) {
  const Trace& trace = context.trace;
  std::vector<char> out(trace.ranges.size(), 0), is_inner(trace.names.size());
  for (NameId name = 0; name < trace.names.size(); ++name)
    is_inner[name] = of_name[name] == optimizer || is_step_name(trace.names.text(name));
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {
    if (!is_inner[trace.ranges[r].name]) continue;
    for_each_around(context.tree, r, [&](std::uint32_t around) { out[around] = 1; });
  }
  return out;
}

/// [ranges] The class of work in ranges that are no stage: what an annotation calls it; loading of
/// data; else, of operators that are in nothing else, the forward pass.
std::vector<int> other_classes(const TraceContext& context, const std::vector<int>& of_name,
                               Classes& classes) {
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
  for (const std::string& name : classes.names) {
    StageRow row;
    row.stage = name;
    if (const auto parent = parent_of_stage(name)) row.parent = *parent;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

StageClasses stage_classes(const TraceContext& context) {
  const Trace& trace = context.trace;
  Classes classes;
  const int communication = classes.id(kCommunication);
  const std::vector<int> of_name = classes.of_names(trace.names);
  StageClasses out;
  out.of_call = innermost_class(trace, of_name);
  const std::vector<int> other = other_classes(context, of_name, classes);
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
  out.names = classes.names();
  return out;
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
