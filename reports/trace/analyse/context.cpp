#include "context.hpp"

#include "communication/patterns.hpp"
#include "launches.hpp"
#include "owners/host_at.hpp"
#include "owners/python_lines.hpp"

namespace nsa::trace {
namespace {

/// Spans of each process: what one process does explains nothing of another one's GPU.
class ByProcess {
 public:
  template <class Span>
  void add(const Span& span) {
    if (span.process >= of_.size()) of_.resize(span.process + std::size_t{1});
    of_[span.process].push_back({span.start_ns, span.end_ns});
  }
  std::vector<IntervalSet> unions() {
    std::vector<IntervalSet> out;
    for (std::vector<Interval>& spans : of_) out.push_back(union_of(std::move(spans)));
    return out;
  }

 private:
  std::vector<std::vector<Interval>> of_;
};

/// Whether an operation was launched in a range that makes its copies communication.
bool in_comm_range(const TraceContext& context, std::uint32_t op,
                   const std::vector<char>& of_name) {
  bool found = false;
  for_each_around(context.tree, context.tree.of_op[op], [&](std::uint32_t range) {
    found |= of_name[context.trace.ranges[range].name] != 0;
  });
  return found;
}

/// Judges a name once, and only those that are asked for: the pool holds arguments and stacks too.
template <class Judge>
class NameJudge {
 public:
  NameJudge(const NamePool& names, Judge judge) : names_(names), judge_(judge), of_(names.size()) {}
  bool operator()(NameId id) {
    signed char& known = of_[id];
    if (known == 0) known = judge_(names_.text(id)) ? 1 : -1;
    return known > 0;
  }

 private:
  const NamePool& names_;
  Judge judge_;
  std::vector<signed char> of_;
};

void find_comm(TraceContext& context) {
  const Trace& trace = context.trace;
  NameJudge kernel(trace.names, [](const std::string& n) { return comm_of_kernel(n).has_value(); });
  NameJudge copy(trace.names, [](const std::string& n) { return comm_of_copy(n).has_value(); });
  NameJudge range(trace.names, [](const std::string& n) { return copies_of_comm(n); });
  context.is_comm_kernel.resize(trace.names.size(), 0);
  std::vector<char> around(trace.names.size(), 0);
  bool any_around = false;
  for (const HostRange& r : trace.ranges) {
    around[r.name] = range(r.name);
    any_around |= around[r.name] != 0;
  }
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    bool comm = false;
    if (op.kind == OpKind::kernel) {
      comm = kernel(op.name);
      context.is_comm_kernel[op.name] = comm;
    }
    if (op.kind == OpKind::copy)
      comm = copy(op.name) || (any_around && in_comm_range(context, i, around));
    context.is_comm_op.push_back(comm);
  }
}

}  // namespace

TraceContext::TraceContext(const Trace& of)
    : trace(of),
      launch(launches_of(of)),
      tree(host_tree(of, launch)),
      wait(waits_of_calls(of, launch)) {
  find_comm(*this);
  ByProcess of_profiler, of_cuda;
  for (const Overhead& o : trace.overheads) {
    if (o.of_profiler) {
      of_profiler.add(o);
    } else if (wait_of_overhead(trace.names.text(o.name)) != WaitKind::none) {
      of_cuda.add(o);
    }
  }
  overheads = of_profiler.unions();
  own = of_cuda.unions();
  host = std::make_unique<HostAt>(*this);
  lines = std::make_unique<PythonLines>(trace);
}

TraceContext::~TraceContext() = default;

}  // namespace nsa::trace
