// Modules of PyTorch: what their forward pass launched, and what autograd launched for it later. By
// calls that PyTorch's profiler recorded, or by ranges of the hook of trace record.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/owners/autograd.hpp"
#include "analyse/parts.hpp"
#include "analyse/steps/recorded_names.hpp"
#include "analyse/sums.hpp"
#include "nsa/trace/range_names.hpp"

namespace nsa::trace {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

/// Calls of modules by thread, nested.
class ModuleCalls {
 public:
  explicit ModuleCalls(const Trace& trace) : trace_(trace) {
    for (std::uint32_t i = 0; i < trace.python.size(); ++i) {  // in order of start
      const PythonCall& call = trace.python[i];
      if (!trace.names.text(call.name).starts_with(kModule)) continue;
      std::vector<Call>& calls = threads_[call.thread];
      calls.push_back({i, around(calls, call.start_ns)});
    }
  }
  bool empty() const { return threads_.empty(); }

  /// Calls `visit(python call)` for the modules around a moment, from the inside out.
  template <class Visit>
  void around(std::uint32_t thread, std::int64_t at_ns, Visit visit) const {
    const auto of = threads_.find(thread);
    if (of == threads_.end()) return;
    const std::vector<Call>& calls = of->second;
    const auto behind = std::partition_point(calls.begin(), calls.end(), [&](const Call& call) {
      return trace_.python[call.index].start_ns <= at_ns;
    });
    auto at = static_cast<std::int64_t>(behind - calls.begin()) - 1;
    for (; at >= 0; at = calls[static_cast<std::size_t>(at)].parent) {
      const PythonCall& call = trace_.python[calls[static_cast<std::size_t>(at)].index];
      if (at_ns < call.end_ns) visit(call);
    }
  }

 private:
  struct Call {
    std::uint32_t index;  // into Trace::python
    std::int64_t parent;  // into the calls of the thread; -1 = none
  };
  /// The innermost call that has not ended.
  std::int64_t around(const std::vector<Call>& calls, std::int64_t at_ns) const {
    auto at = static_cast<std::int64_t>(calls.size()) - 1;
    while (at >= 0 && trace_.python[calls[static_cast<std::size_t>(at)].index].end_ns <= at_ns)
      at = calls[static_cast<std::size_t>(at)].parent;
    return at;
  }

  const Trace& trace_;
  std::unordered_map<std::uint32_t, std::vector<Call>> threads_;
};

/// Most GPU time first.
template <class Rows>
std::vector<ModuleRow> sorted(Rows& rows) {
  std::vector<ModuleRow> out;
  for (auto& [name, row] : rows) out.push_back(std::move(row));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.gpu_ns + a.backward_ns > b.gpu_ns + b.backward_ns;
  });
  return out;
}

/// Out of calls of modules and autograd's numbers.
std::vector<ModuleRow> called_modules(const TraceContext& context, const ModuleCalls& modules) {
  const Trace& trace = context.trace;
  std::map<NameId, ModuleRow> rows;
  for (const PythonCall& call : trace.python) {
    if (!trace.names.text(call.name).starts_with(kModule)) continue;
    ModuleRow& row = rows[call.name];
    row.name = trace.names.text(call.name).substr(kModule.size());
    ++row.count;
    add_to(row.host_ns, call.end_ns - call.start_ns);
  }
  const Forwards forwards(trace);
  std::vector<NameId> names;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const std::int64_t ns = trace.ops[i].end_ns - trace.ops[i].start_ns;
    const std::uint32_t forward = forwards.of_op(context, i);
    names.clear();
    const auto count = [&](const PythonCall& call) {
      if (std::count(names.begin(), names.end(), call.name) != 0) return;
      ModuleRow& row = rows[call.name];
      add_to(forward == kNone ? row.gpu_ns : row.backward_ns, ns);
      if (forward == kNone && names.empty()) add_to(row.gpu_self_ns, ns);
      names.push_back(call.name);
    };
    if (forward != kNone) {
      modules.around(trace.ranges[forward].thread, trace.ranges[forward].start_ns, count);
    } else if (context.launch[i] != kNone) {
      const ApiCall& call = trace.calls[context.launch[i]];
      modules.around(call.thread, call.start_ns, count);
    }
  }
  return sorted(rows);
}

/// Ranges that a hook made of the passes of modules: a row for both passes of each.
class HookedModules {
 public:
  explicit HookedModules(const TraceContext& context) : context_(context), trace_(context.trace) {
    const RecordedNames recorded(trace_, kModulesRecorded);
    if (recorded.empty()) return;
    std::map<std::string_view, std::int32_t> numbers;
    for (NameId name = 0; name < trace_.names.size(); ++name) {
      const std::string_view text = trace_.names.text(name);
      const std::string_view module = module_of_range(text);
      passes_.emplace_back();
      if (module.empty() || !recorded.hold(module)) continue;
      const auto next = static_cast<std::int32_t>(rows_.size());
      const auto [at, added] = numbers.try_emplace(module, next);
      if (added) rows_.emplace_back().name = module;
      passes_.back() = {at->second, text.front() == 'f'};
    }
  }
  bool empty() const { return rows_.empty(); }

  std::vector<ModuleRow> rows() {
    for (const HostRange& range : trace_.ranges)
      if (const Pass pass = pass_of(range.name); pass.row >= 0 && pass.forward && !range.open) {
        ++row(pass).count;
        add_to(row(pass).host_ns, range.end_ns - range.start_ns);
      }
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) count_gpu(i);
    std::map<std::string, ModuleRow> by_name;
    for (ModuleRow& row : rows_) by_name.emplace(row.name, std::move(row));
    return sorted(by_name);
  }

 private:
  struct Pass {
    std::int32_t row = -1;  // -1: of no module
    bool forward = false;
  };
  Pass pass_of(NameId name) const { return name < passes_.size() ? passes_[name] : Pass{}; }
  ModuleRow& row(const Pass& pass) { return rows_[static_cast<std::size_t>(pass.row)]; }

  /// What a graph replays belongs to the range in which it was captured.
  void count_gpu(std::size_t op) {
    const std::int64_t ns = trace_.ops[op].end_ns - trace_.ops[op].start_ns;
    counted_.clear();
    count(pass_of(trace_.ops[op].stage), ns);
    for_each_around(context_.tree, context_.tree.of_op[op],
                    [&](std::uint32_t r) { count(pass_of(trace_.ranges[r].name), ns); });
  }
  void count(const Pass& pass, std::int64_t ns) {
    const std::int32_t key = 2 * pass.row + (pass.forward ? 1 : 0);
    if (pass.row < 0 || std::count(counted_.begin(), counted_.end(), key) != 0) return;
    if (pass.forward && counted_.empty()) add_to(row(pass).gpu_self_ns, ns);
    add_to(pass.forward ? row(pass).gpu_ns : row(pass).backward_ns, ns);
    counted_.push_back(key);
  }

  const TraceContext& context_;
  const Trace& trace_;
  std::vector<ModuleRow> rows_;
  std::vector<Pass> passes_;           // [names]
  std::vector<std::int32_t> counted_;  // of one operation: row and pass
};

}  // namespace

void add_modules(const TraceContext& context, Summary& out) {
  if (const ModuleCalls calls(context.trace); !calls.empty()) {
    out.modules = called_modules(context, calls);
  } else if (HookedModules hooked(context); !hooked.empty()) {
    out.modules = hooked.rows();
  } else {
    out.null_reasons["modules"] = "no nn.Module was recorded (with_stack, with_modules)";
  }
}

}  // namespace nsa::trace
