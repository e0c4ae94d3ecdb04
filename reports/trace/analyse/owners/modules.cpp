// Modules of PyTorch: what their forward pass launched, and what autograd launched for it later.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/owners/autograd.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"

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

}  // namespace

void add_modules(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  const ModuleCalls modules(trace);
  if (modules.empty()) {
    out.null_reasons["modules"] = "no nn.Module was recorded (with_stack, with_modules)";
    return;
  }
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
  out.modules.emplace();
  for (auto& [name, row] : rows) out.modules->push_back(std::move(row));
  std::stable_sort(out.modules->begin(), out.modules->end(), [](const auto& a, const auto& b) {
    return a.gpu_ns + a.backward_ns > b.gpu_ns + b.backward_ns;
  });
}

}  // namespace nsa::trace
