#include <algorithm>
#include <map>

#include "analyse/owners/host_at.hpp"
#include "analyse/owners/python_lines.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "walk.hpp"

namespace nsa::trace {
namespace {

class Walk {
 public:
  Walk(const TraceContext& context, const PathGraph& graph, const Schedule& schedule)
      : context_(context),
        trace_(context.trace),
        graph_(graph),
        schedule_(schedule),
        calls_(graph.first_call_node(trace_)),
        host_(*context.host) {}

  CriticalPath take() {
    std::uint32_t node = last_end();
    const std::int64_t end = schedule_.time_of(node);
    std::size_t left = 2 * (trace_.ops.size() + trace_.calls.size());  // nodes
    while (left-- > 0) {
      const std::uint32_t before = node < calls_ ? before_op(node) : before_call(node);
      if (before == kNone) break;
      node = before;
    }
    out_.start_ns = schedule_.time_of(node);
    out_.length_ns = end - out_.start_ns;
    for (auto& [key, part] : parts_) out_.parts.push_back(std::move(part));
    std::erase_if(out_.parts, [](const PathPart& part) { return part.total_ns == 0; });
    std::stable_sort(out_.parts.begin(), out_.parts.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    constexpr std::size_t kLines = 10;
    out_.samples = lines_.samples();
    out_.lines = lines_.largest(trace_, kLines);
    return std::move(out_);
  }

 private:
  std::uint32_t last_end() const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < trace_.ops.size(); ++i)
      if (trace_.ops[i].end_ns > trace_.ops[last].end_ns) last = i;
    return 2 * last + 1;
  }

  void count(const std::string& what, const std::string& name, std::uint32_t from,
             std::uint32_t to) {
    PathPart& part = parts_[{what, name}];
    part.what = what;
    part.name = name;
    ++part.count;
    add_to(part.total_ns, schedule_.time_of(to) - schedule_.time_of(from));
  }
  /// What the host of a call does on the path, between two moments.
  void count_host(const std::string& what, const std::string& name, std::uint32_t call,
                  std::uint32_t from, std::uint32_t to) {
    count(what, name, from, to);
    context_.lines->visit(
        trace_.calls[call].process, schedule_.time_of(from), schedule_.time_of(to),
        [&](std::uint32_t frame, std::int64_t samples) { lines_.add(frame, samples); });
  }

  const std::string& api(std::uint32_t call) const {
    return trace_.names.text(trace_.calls[call].name);
  }

  std::uint32_t before_op(std::uint32_t node) {
    const std::uint32_t op = node / 2;
    if (node % 2 == 1) {
      const std::uint32_t last = schedule_.last_to_come(op);
      const std::uint32_t from = 2 * (last == kNone ? op : last);
      count(path_kind(context_, op), trace_.names.text(trace_.ops[op].name), from, node);
      return from;
    }
    const StartCause cause = schedule_.cause_of(op);
    if (cause.kind == StartCause::Kind::launch) {
      count("launch", api((cause.node - calls_) / 2), cause.node, node);
    } else if (cause.kind != StartCause::Kind::none && cause.node % 2 == 0) {
      // It began while the one before it ran.
      count(path_kind(context_, op), trace_.names.text(trace_.ops[cause.node / 2].name), cause.node,
            node);
    } else if (cause.kind != StartCause::Kind::none) {
      count("between_operations", "", cause.node, node);
    }
    return cause.node;
  }

  std::uint32_t before_call(std::uint32_t node) {
    const std::uint32_t call = (node - calls_) / 2;
    if (node % 2 == 1) {
      const std::uint32_t op = schedule_.waited_for(call);
      const std::uint32_t from = op == kNone ? node - 1 : 2 * op + 1;
      count_host(op == kNone ? "api" : "host_wait", api(call), call, from, node);
      return from;
    }
    const std::uint32_t before = graph_.call_before[call];
    if (before == kNone) return kNone;
    const bool nested = graph_.call_is_nested[call] != 0;
    const std::uint32_t from = calls_ + 2 * before + (nested ? 0 : 1);
    if (nested) {
      count_host("api", api(before), before, from, node);
    } else {
      const std::int64_t begin = schedule_.time_of(from), end = schedule_.time_of(node);
      const Doing doing = host_.doing(trace_.calls[call].thread, begin + (end - begin) / 2);
      count_host("host", name_of(trace_, doing), call, from, node);
    }
    return from;
  }

  const TraceContext& context_;
  const Trace& trace_;
  const PathGraph& graph_;
  const Schedule& schedule_;
  std::uint32_t calls_;
  const HostAt& host_;
  CriticalPath out_;
  std::map<std::pair<std::string, std::string>, PathPart> parts_;
  LineCounts lines_;
};

/// Of the process that has most of them.
std::int64_t steps_of(const Summary& summary) {
  std::map<std::uint32_t, std::int64_t> counts;
  std::int64_t most = 0;
  if (!summary.steps) return 0;
  for (const Step& step : *summary.steps) most = std::max(most, ++counts[step.process]);
  return most;
}

}  // namespace

const char* path_kind(const TraceContext& context, std::uint32_t op) {
  if (context.is_comm(op)) return "collective";
  switch (context.trace.ops[op].kind) {
    case OpKind::kernel:
      return "kernel";
    case OpKind::copy:
      return "copy";
    case OpKind::set:
      return "memset";
    default:
      return "graph";
  }
}

CriticalPath walk_path(const TraceContext& context, const PathGraph& graph,
                       const Schedule& schedule) {
  return Walk(context, graph, schedule).take();
}

void add_critical_path(const TraceContext& context, Summary& out) {
  if (context.trace.ops.empty()) {
    out.null_reasons["critical_path"] = "no GPU operation was recorded";
    return;
  }
  if (!context.trace.one_time_line()) {
    out.null_reasons["critical_path"] = context.trace.source.clocks->assumption;
    return;
  }
  const PathGraph graph = path_graph(context);
  const Schedule schedule(context, graph);
  CriticalPath path = walk_path(context, graph, schedule);
  path.events = graph.events;
  path.steps = steps_of(out);
  add_what_ifs(context, graph, schedule, path);
  out.critical_path = std::move(path);
}

}  // namespace nsa::trace
