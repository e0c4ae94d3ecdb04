#include "around.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace nsa::doctor {
namespace {

using trace::HostRange;
using Indices = std::vector<std::uint32_t>;

/// Indices of what has a thread and a start, by thread, then by start; the longer range first.
template <class Event>
Indices by_thread(const std::vector<Event>& events) {
  Indices order(events.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Event &x = events[a], &y = events[b];
    return std::tuple(x.process, x.thread, x.start_ns, -x.end_ns) <
           std::tuple(y.process, y.thread, y.start_ns, -y.end_ns);
  });
  return order;
}

template <class A, class B>
bool same_thread(const A& a, const B& b) {
  return a.process == b.process && a.thread == b.thread;
}
/// `range` begins before `call` does, in the order of by_thread.
template <class Range>
bool before(const Range& range, const trace::ApiCall& call) {
  return std::tuple(range.process, range.thread, range.start_ns) <=
         std::tuple(call.process, call.thread, call.start_ns);
}

bool is_closed(const HostRange& range) { return !range.open; }
bool is_closed(const trace::PythonCall&) { return true; }

/// Calls `visit(index of a call, what is around its start on its thread)`, the innermost last.
template <class Range, class Visit>
void for_each_call(const trace::Trace& trace, const std::vector<Range>& all, Visit visit) {
  if (all.empty()) return;
  const Indices ranges = by_thread(all);
  std::vector<const Range*> open;
  const auto end_before = [&](const auto& event) {
    while (!open.empty() &&
           (!same_thread(*open.back(), event) || open.back()->end_ns <= event.start_ns))
      open.pop_back();
  };
  std::size_t next = 0;
  for (const std::uint32_t index : by_thread(trace.calls)) {
    const trace::ApiCall& call = trace.calls[index];
    for (; next < ranges.size() && before(all[ranges[next]], call); ++next) {
      const Range& range = all[ranges[next]];
      end_before(range);
      if (is_closed(range)) open.push_back(&range);
    }
    end_before(call);
    visit(index, open);
  }
}

/// "train.py(12): step", not one of PyTorch or another package.
bool is_of_program(std::string_view function) {
  if (function.find(".py(") == function.npos || function.starts_with("torch/")) return false;
  for (const std::string_view packages : {"site-packages/", "dist-packages/", "/lib/python3"})
    if (function.find(packages) != function.npos) return false;
  return true;
}

/// The first of the program in a "Call stack": "a.py(1): f;b.py(2): g", the innermost first.
std::string_view first_of_program(std::string_view stack) {
  while (!stack.empty()) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    if (is_of_program(stack.substr(0, end))) return stack.substr(0, end);
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return {};
}

}  // namespace

std::vector<trace::NameId> ranges_around(const trace::Trace& trace) {
  std::vector<trace::NameId> names(trace.calls.size(), trace::kNoName);
  for_each_call(trace, trace.ranges, [&](std::uint32_t call, const auto& around) {
    if (!around.empty()) names[call] = around.back()->name;
  });
  return names;
}

std::vector<std::string_view> functions_around(const trace::Trace& trace) {
  std::vector<std::string_view> names(trace.calls.size());
  for_each_call(trace, trace.python, [&](std::uint32_t call, const auto& around) {
    const auto inner = std::find_if(around.rbegin(), around.rend(), [&](const auto* function) {
      return is_of_program(trace.names.text(function->name));
    });
    if (inner != around.rend()) names[call] = trace.names.text((*inner)->name);
  });
  const bool has_stacks =
      std::any_of(trace.ranges.begin(), trace.ranges.end(),
                  [](const HostRange& range) { return range.stack != trace::kNoName; });
  if (!has_stacks) return names;
  for_each_call(trace, trace.ranges, [&](std::uint32_t call, const auto& around) {
    for (auto range = around.rbegin(); range != around.rend() && names[call].empty(); ++range)
      names[call] = first_of_program(trace.names.text((*range)->stack));
  });
  return names;
}

}  // namespace nsa::doctor
