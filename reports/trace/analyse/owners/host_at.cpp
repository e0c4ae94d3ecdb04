#include "host_at.hpp"

#include "analyse/stages/names.hpp"

namespace nsa::trace {
namespace {

/// Of events in order of start the last one that began by then.
template <class Events>
std::uint32_t last_before(const Events& events, const std::vector<std::uint32_t>& numbers,
                          std::int64_t at_ns) {
  const auto behind = std::partition_point(
      numbers.begin(), numbers.end(), [&](std::uint32_t i) { return events[i].start_ns <= at_ns; });
  return behind == numbers.begin() ? kNone : *std::prev(behind);
}

/// The innermost that still runs, of one that began before and those around it.
template <class Events>
std::uint32_t still_open(const Events& events, const std::vector<std::uint32_t>& parent,
                         std::uint32_t i, std::int64_t at_ns) {
  while (i != kNone && events[i].end_ns <= at_ns) i = parent[i];
  return i;
}

template <class Events>
std::vector<std::vector<std::uint32_t>> by_thread(const Trace& trace, const Events& events) {
  std::vector<std::vector<std::uint32_t>> out(trace.threads.size());
  for (std::uint32_t i = 0; i < events.size(); ++i) out[events[i].thread].push_back(i);
  return out;
}

/// Those calls that `passes` and that begin in no other one of them.
template <class Passes>
std::vector<std::vector<std::uint32_t>> outer_calls(const Trace& trace, Passes passes) {
  std::vector<std::vector<std::uint32_t>> out(trace.threads.size());
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    std::vector<std::uint32_t>& of_thread = out[call.thread];
    if (passes(i) && (of_thread.empty() || trace.calls[of_thread.back()].end_ns <= call.start_ns))
      of_thread.push_back(i);
  }
  return out;
}

/// [python] The function around each.
std::vector<std::uint32_t> callers(const Trace& trace) {
  std::vector<std::uint32_t> parent(trace.python.size(), kNone), last(trace.threads.size(), kNone);
  for (std::uint32_t i = 0; i < trace.python.size(); ++i) {
    const PythonCall& call = trace.python[i];
    parent[i] = still_open(trace.python, parent, last[call.thread], call.start_ns);
    last[call.thread] = i;
  }
  return parent;
}

/// [names] Whether what is called so loads data; empty where nothing does.
std::vector<char> loading_names(const Trace& trace) {
  std::vector<char> known(trace.names.size(), 0);
  bool any = false;
  const auto judge = [&](NameId name) {
    if (known[name] != 0) return;
    known[name] = loads_data(trace.names.text(name)) ? 1 : 2;
    any |= known[name] == 1;
  };
  for (const HostRange& range : trace.ranges) judge(range.name);
  for (const PythonCall& call : trace.python) judge(call.name);
  if (!any) known.clear();
  return known;
}

}  // namespace

const char* to_string(HostState state) {
  switch (state) {
    case HostState::api:
      return "api";
    case HostState::allocation:
      return "allocation";
    case HostState::data_loading:
      return "data_loading";
    case HostState::cpu_op:
      return "operator";
    case HostState::annotation:
      return "annotation";
    case HostState::python:
      return "python";
    case HostState::launch_pending:
      return "launch_pending";
    case HostState::launch_unknown:
      return "launch_unknown";
    case HostState::cuda_own:
      return "cuda_own";
    case HostState::profiler:
      return "profiler";
    default:
      return "nothing_recorded";
  }
}

std::string name_of(const Trace& trace, const Doing& doing) {
  if (doing.name == kNoName) return {};
  const std::string& text = trace.names.text(doing.name);
  const bool is_range = doing.state == HostState::cpu_op || doing.state == HostState::annotation;
  return is_range ? plain_range_name(text) : text;
}

HostAt::HostAt(const TraceContext& context)
    : context_(context),
      calls_(outer_calls(context.trace, [](std::uint32_t) { return true; })),
      waits_(outer_calls(context.trace,
                         [&](std::uint32_t i) { return context.wait[i] != WaitKind::none; })),
      ranges_(by_thread(context.trace, context.trace.ranges)),
      python_(by_thread(context.trace, context.trace.python)),
      python_parent_(callers(context.trace)),
      loads_(loading_names(context.trace)) {
  for (std::vector<std::uint32_t>& of_thread : ranges_)
    std::erase_if(of_thread, [&](std::uint32_t i) { return context.trace.ranges[i].open; });
}

std::uint32_t HostAt::loading_range(std::uint32_t range) const {
  while (range != kNone && loads_[context_.trace.ranges[range].name] != 1)
    range = context_.tree.parent[range];
  return range;
}

std::uint32_t HostAt::loading_function(std::uint32_t function) const {
  while (function != kNone && loads_[context_.trace.python[function].name] != 1)
    function = python_parent_[function];
  return function;
}

Doing HostAt::judge(const Around& around) const {
  const Trace& trace = context_.trace;
  if (around.call != kNone) return in_call(around.call);
  if (!loads_.empty()) {
    if (const std::uint32_t range = loading_range(around.range); range != kNone)
      return {HostState::data_loading, trace.ranges[range].name};
    if (const std::uint32_t function = loading_function(around.python); function != kNone)
      return {HostState::data_loading, trace.python[function].name};
  }
  const bool has_range = around.range != kNone;
  if (has_range && trace.ranges[around.range].kind == RangeKind::cpu_op)
    return {HostState::cpu_op, trace.ranges[around.range].name};
  if (around.python != kNone &&
      (!has_range || trace.python[around.python].start_ns >= trace.ranges[around.range].start_ns))
    return {HostState::python, trace.python[around.python].name};
  if (has_range) return {HostState::annotation, trace.ranges[around.range].name};
  return {};
}

Doing HostAt::in_call(std::uint32_t call) const {
  const bool allocates = context_.wait[call] == WaitKind::allocation;
  return {allocates ? HostState::allocation : HostState::api, context_.trace.calls[call].name};
}

std::uint32_t HostAt::range(std::uint32_t thread, std::int64_t at_ns) const {
  const Trace& trace = context_.trace;
  return still_open(trace.ranges, context_.tree.parent,
                    last_before(trace.ranges, ranges_[thread], at_ns), at_ns);
}

HostAt::Around HostAt::around(std::uint32_t thread, std::int64_t at_ns) const {
  const Trace& trace = context_.trace;
  Around around;
  around.call = last_before(trace.calls, calls_[thread], at_ns);
  if (around.call != kNone && trace.calls[around.call].end_ns <= at_ns) around.call = kNone;
  around.range = range(thread, at_ns);
  around.python = still_open(trace.python, python_parent_,
                             last_before(trace.python, python_[thread], at_ns), at_ns);
  return around;
}

Doing HostAt::doing(std::uint32_t thread, std::int64_t at_ns) const {
  return judge(around(thread, at_ns));
}

HostLine::HostLine(const HostAt& host, std::uint32_t thread, std::int64_t from_ns)
    : host_(host),
      calls_(host.calls_[thread]),
      ranges_(host.ranges_[thread]),
      python_(host.python_[thread]),
      around_(host.around(thread, from_ns)) {
  const auto begun = [&](const auto& events, const std::vector<std::uint32_t>& numbers) {
    const auto behind = std::partition_point(numbers.begin(), numbers.end(), [&](std::uint32_t i) {
      return events[i].start_ns <= from_ns;
    });
    return static_cast<std::size_t>(behind - numbers.begin());
  };
  const Trace& trace = host.context_.trace;
  next_call_ = begun(trace.calls, calls_);
  next_range_ = begun(trace.ranges, ranges_);
  next_python_ = begun(trace.python, python_);
}

void HostLine::move_to(std::int64_t at_ns) {
  const Trace& trace = host_.context_.trace;
  const auto began = [&](const auto& events, const auto& numbers, std::size_t next) {
    return next < numbers.size() && events[numbers[next]].start_ns <= at_ns;
  };
  for (; began(trace.calls, calls_, next_call_); ++next_call_) around_.call = calls_[next_call_];
  if (around_.call != kNone && trace.calls[around_.call].end_ns <= at_ns) around_.call = kNone;
  for (; began(trace.ranges, ranges_, next_range_); ++next_range_)
    around_.range = ranges_[next_range_];
  around_.range = still_open(trace.ranges, host_.context_.tree.parent, around_.range, at_ns);
  for (; began(trace.python, python_, next_python_); ++next_python_)
    around_.python = python_[next_python_];
  around_.python = still_open(trace.python, host_.python_parent_, around_.python, at_ns);
}

/// After a moment that it was moved to. What runs within a call or an operator of the host is not
/// looked at.
std::int64_t HostLine::next_change(std::int64_t at_ns) const {
  const Trace& trace = host_.context_.trace;
  if (around_.call != kNone) return trace.calls[around_.call].end_ns;
  std::int64_t next = kMaxTimeNs;
  const auto consider = [&](const auto& events, const auto& numbers, std::size_t next_number,
                            std::uint32_t open) {
    if (next_number < numbers.size()) next = std::min(next, events[numbers[next_number]].start_ns);
    if (open != kNone) next = std::min(next, events[open].end_ns);
  };
  consider(trace.calls, calls_, next_call_, kNone);
  consider(trace.ranges, ranges_, next_range_, around_.range);
  const bool in_operator =
      around_.range != kNone && trace.ranges[around_.range].kind == RangeKind::cpu_op;
  if (!in_operator) consider(trace.python, python_, next_python_, around_.python);
  return std::max(next, at_ns + 1);
}

}  // namespace nsa::trace
