// What a trace would be if its largest parts took no time.
#include <algorithm>
#include <map>
#include <utility>

#include "analyse/intervals.hpp"
#include "analyse/owners/python_lines.hpp"
#include "analyse/stages/names.hpp"
#include "analyse/sums.hpp"
#include "nsa/trace/python_lines.hpp"
#include "nsa/trace/tables.hpp"
#include "walk.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kKernels = 6, kWaits = 3, kLines = 3;

/// The largest number that was added for any other stream than a given one.
class LargestElsewhere {
 public:
  using Stream = std::pair<std::uint32_t, std::int64_t>;  // process, stream

  void add(const Stream& stream, std::int64_t number) {
    if (stream == first_.stream) {
      first_.number = std::max(first_.number, number);
    } else if (number > first_.number) {
      second_ = std::exchange(first_, {stream, number});
    } else if (number > second_.number) {
      second_ = {stream, number};
    }
  }
  std::int64_t than(const Stream& stream) const {
    return stream == first_.stream ? second_.number : first_.number;
  }

 private:
  struct Entry {
    Stream stream{};
    std::int64_t number = INT64_MIN;
  };
  Entry first_, second_;  // of two streams
};

/// [ops] Whether a kernel of another stream ran on the same device meanwhile: one that began before
/// and had not ended, or one that began before this one ended.
std::vector<char> beside_kernels(const TraceContext& context) {
  const auto& ops = context.trace.ops;
  std::vector<char> out(ops.size(), 0);
  std::map<DeviceKey, LargestElsewhere> ends, starts;  // the latest end; the first start, below 0
  const auto visit = [&](std::uint32_t i, auto& devices, std::int64_t own, std::int64_t later) {
    const GpuOp& op = ops[i];
    if (op.end_ns <= op.start_ns) return;
    LargestElsewhere& device = devices[{context.trace.part_of(op.process), op.device}];
    const LargestElsewhere::Stream stream{op.process, op.stream};
    if (device.than(stream) > later) out[i] = 1;
    if (op.kind == OpKind::kernel || op.kind == OpKind::graph) device.add(stream, own);
  };
  const auto count = static_cast<std::uint32_t>(ops.size());
  for (std::uint32_t i = 0; i < count; ++i) visit(i, ends, ops[i].end_ns, ops[i].start_ns);
  for (std::uint32_t i = count; i-- > 0;) visit(i, starts, -ops[i].start_ns, -ops[i].end_ns);
  return out;
}

/// A kind of the list; another one does not compile.
class Question {
 public:
  consteval Question(const char* what) : what_(what) {
    for (const WhatIfKind& kind : kWhatIfKinds)
      if (kind.what == what_) return;
    throw "not in kWhatIfKinds";
  }
  std::string text() const { return std::string(what_); }

 private:
  std::string_view what_;
};

class Asked {
 public:
  Asked(const TraceContext& context, const Schedule& schedule, CriticalPath& path)
      : trace_(context.trace),
        schedule_(schedule),
        path_(path),
        beside_kernels_(beside_kernels(context)),
        now_ns_(schedule.end_ns({})) {}

  /// Operations that pass.
  template <class Passes>
  void ops(Question what, const std::string& name, Passes passes) {
    std::int64_t total = 0;
    bool shares = false;
    for (std::uint32_t i = 0; i < trace_.ops.size(); ++i) {
      if (!passes(i)) continue;
      add_to(total, trace_.ops[i].end_ns - trace_.ops[i].start_ns);
      shares = shares || beside_kernels_[i];
    }
    if (total > 0) ask(what, name, total, {.op = passes}, shares);
  }
  /// Calls that pass, with what the host waits for in them.
  template <class Passes>
  void calls(Question what, const std::string& name, Passes passes) {
    std::int64_t total = 0;
    for (std::uint32_t i = 0; i < trace_.calls.size(); ++i)
      if (passes(i)) add_to(total, trace_.calls[i].end_ns - trace_.calls[i].start_ns);
    if (total > 0) ask(what, name, total, {.call = passes});
  }
  void ask(Question what, const std::string& name, std::int64_t total, const Without& without,
           bool at_least = false) {
    const std::int64_t gain = std::max<std::int64_t>(0, now_ns_ - schedule_.end_ns(without));
    path_.what_if.push_back({what.text(), name, total, gain, at_least});
  }

 private:
  const Trace& trace_;
  const Schedule& schedule_;
  CriticalPath& path_;
  std::vector<char> beside_kernels_;
  std::int64_t now_ns_;
};

/// Of a name that is in the pool.
NameId id_of(const NamePool& names, const std::string& name) {
  NameId id = 0;
  while (id + 1 < names.size() && names.text(id) != name) ++id;
  return id;
}

/// Names of parts of one kind that are most of the path.
std::vector<std::string> largest(const CriticalPath& path, std::string_view what,
                                 std::size_t most) {
  std::vector<std::string> out;
  for (const PathPart& part : path.parts)
    if (part.what == what && out.size() < most) out.push_back(part.name);
  return out;
}

/// [calls] How long the host did something else before each of them, on the same or another thread.
class HostGaps {
 public:
  HostGaps(const TraceContext& context, const PathGraph& graph)
      : context_(context), graph_(graph) {}

  std::int64_t ns(std::uint32_t call) const {
    const std::uint32_t before = graph_.call_before[call];
    if (before == kNone || graph_.call_is_nested[call] != 0) return 0;
    const auto& calls = context_.trace.calls;
    return std::max<std::int64_t>(0, calls[call].start_ns - calls[before].end_ns);
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < context_.trace.calls.size(); ++i) add_to(sum, ns(i));
    return sum;
  }

 private:
  const TraceContext& context_;
  const PathGraph& graph_;
};

/// When each thread loaded data.
std::map<std::uint32_t, IntervalSet> loading(const Trace& trace) {
  std::vector<char> loads(trace.names.size(), 0);
  std::map<std::uint32_t, std::vector<Interval>> spans;
  for (const HostRange& range : trace.ranges) {
    if (loads[range.name] == 0)
      loads[range.name] = loads_data(trace.names.text(range.name)) ? 1 : 2;
    if (loads[range.name] == 1 && !range.open)
      spans[range.thread].push_back({range.start_ns, range.end_ns});
  }
  std::map<std::uint32_t, IntervalSet> out;
  for (auto& [thread, of_thread] : spans) out[thread] = union_of(std::move(of_thread));
  return out;
}

void ask_loading(const TraceContext& context, const HostGaps& gaps, Asked& asked) {
  const auto& calls = context.trace.calls;
  const auto threads = loading(context.trace);
  if (threads.empty()) return;
  std::vector<std::int64_t> loads(calls.size(), 0);
  std::int64_t total = 0;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    const std::int64_t gap = gaps.ns(i);
    const auto of_thread = threads.find(calls[i].thread);
    if (gap == 0 || of_thread == threads.end()) continue;
    const IntervalSet span{{calls[i].start_ns - gap, calls[i].start_ns}};
    loads[i] = length_of_intersection(span, of_thread->second);
    add_to(total, loads[i]);
  }
  if (total > 0)
    asked.ask("data_loading", "", total,
              {.before_call = [&](std::uint32_t i) { return loads[i]; }});
}

/// [calls] The part of what the host did before each of them in which samples found it at a line.
/// What was too short for a sample is not in it.
std::vector<std::int64_t> time_at(const TraceContext& context, const HostGaps& gaps,
                                  const PythonLine& line) {
  const Trace& trace = context.trace;
  const auto is_there = [&](std::uint32_t frame) {
    const PythonFrame& own = trace.python_frames[own_frame(trace, frame)];
    return own.line == line.line && trace.names.text(own.file) == line.file &&
           trace.names.text(own.function) == line.function;
  };
  std::vector<char> there(trace.python_frames.size(), 0);
  for (std::uint32_t i = 1; i < there.size(); ++i) there[i] = is_there(i);
  std::vector<std::int64_t> out(trace.calls.size(), 0);
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const std::int64_t gap = gaps.ns(i);
    if (gap == 0) continue;
    std::int64_t at_line = 0, all = 0;
    const std::int64_t end = trace.calls[i].start_ns;
    context.lines->visit(trace.calls[i].process, end - gap, end,
                         [&](std::uint32_t frame, std::int64_t samples) {
                           all += samples;
                           at_line += there[frame] != 0 ? samples : 0;
                         });
    if (at_line > 0)
      out[i] = static_cast<std::int64_t>(static_cast<double>(gap) * static_cast<double>(at_line) /
                                         static_cast<double>(all));
  }
  return out;
}

void ask_lines(const TraceContext& context, const HostGaps& gaps, const CriticalPath& path,
               Asked& asked) {
  for (std::size_t i = 0; i < std::min(kLines, path.lines.size()); ++i) {
    const PythonLine& line = path.lines[i];
    const std::vector<std::int64_t> at_line = time_at(context, gaps, line);
    std::int64_t total = 0;
    for (const std::int64_t ns : at_line) add_to(total, ns);
    if (total > 0)
      asked.ask("python_line", line_text(line.file, line.line, line.function), total,
                {.before_call = [&](std::uint32_t call) { return at_line[call]; }}, true);
  }
}

void ask_host(const TraceContext& context, const PathGraph& graph, const CriticalPath& path,
              Asked& asked) {
  const auto& calls = context.trace.calls;
  const HostGaps gaps(context, graph);
  std::int64_t total = gaps.total();
  for (std::uint32_t i = 0; i < calls.size(); ++i)
    if (context.wait[i] == WaitKind::none && graph.call_is_nested[i] == 0)
      add_to(total, calls[i].end_ns - calls[i].start_ns);
  const auto all = [](std::uint32_t) { return kMaxDurationNs; };
  if (total > 0) asked.ask("host", "", total, {.before_call = all, .host_work = true});
  ask_loading(context, gaps, asked);
  ask_lines(context, gaps, path, asked);
}

bool with_host(std::string_view way) { return way == "HtoD" || way == "DtoH"; }

void ask_ranks(const TraceContext& context, const PathGraph& graph, const Schedule& schedule,
               Asked& asked) {
  std::int64_t total = 0;
  for (const Numbers& ops : graph.collectives)
    for (const std::uint32_t op : ops)
      add_to(total, context.trace.ops[schedule.last_to_come(op)].start_ns -
                        context.trace.ops[op].start_ns);
  if (total > 0) asked.ask("ranks", "", total, {.waiting_for_ranks = true});
}

}  // namespace

void add_what_ifs(const TraceContext& context, const PathGraph& graph, const Schedule& schedule,
                  CriticalPath& path) {
  const Trace& trace = context.trace;
  Asked asked(context, schedule, path);
  for (const std::string& name : largest(path, "kernel", kKernels)) {
    const NameId id = id_of(trace.names, name);
    asked.ops("kernel", name, [&](std::uint32_t i) {
      return trace.ops[i].name == id && trace.ops[i].kind == OpKind::kernel && !context.is_comm(i);
    });
  }
  asked.ops("copy", "", [&](std::uint32_t i) {
    return !context.is_comm(i) && trace.ops[i].kind == OpKind::copy;
  });
  asked.ops("host_copy", "", [&](std::uint32_t i) {
    return !context.is_comm(i) && trace.ops[i].kind == OpKind::copy &&
           with_host(copy_kind(trace.names.text(trace.ops[i].name)));
  });
  asked.ops("collective", "", [&](std::uint32_t i) { return context.is_comm(i); });
  ask_ranks(context, graph, schedule, asked);
  const auto waits = [&](std::uint32_t i) { return context.wait[i] != WaitKind::none; };
  asked.calls("host_wait", "", waits);
  for (const std::string& name : largest(path, "host_wait", kWaits))
    asked.calls("host_wait", name, [&](std::uint32_t i) {
      return waits(i) && trace.names.text(trace.calls[i].name) == name;
    });
  asked.calls("allocation", "",
              [&](std::uint32_t i) { return context.wait[i] == WaitKind::allocation; });
  asked.calls("other_wait", "",
              [&](std::uint32_t i) { return waits(i) && context.wait[i] != WaitKind::allocation; });
  ask_host(context, graph, path, asked);
  std::stable_sort(path.what_if.begin(), path.what_if.end(),
                   [](const auto& a, const auto& b) { return a.gain_ns > b.gain_ns; });
}

}  // namespace nsa::trace
