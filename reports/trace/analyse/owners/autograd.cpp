#include "autograd.hpp"

#include <algorithm>
#include <map>

#include "analyse/launches.hpp"

namespace nsa::trace {

std::vector<AutogradLink> autograd_links(const Trace& trace) {
  if (trace.flows.empty()) return {};
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> begins;  // by thread and time
  for (const Flow& flow : trace.flows) {
    begins.try_emplace({flow.thread, flow.start_ns}, kNone);
    begins.try_emplace({flow.to_thread, flow.end_ns}, kNone);
  }
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {  // in order of start, longer ones first
    const HostRange& range = trace.ranges[r];
    if (range.open || range.end_ns == range.start_ns) continue;
    const auto at = begins.find({range.thread, range.start_ns});
    if (at != begins.end() && at->second == kNone) at->second = r;
  }
  std::vector<AutogradLink> out;
  for (const Flow& flow : trace.flows)
    out.push_back(
        {begins.at({flow.thread, flow.start_ns}), begins.at({flow.to_thread, flow.end_ns})});
  return out;
}

namespace {

std::uint64_t number_of(const HostRange& range) {
  return std::uint64_t{range.process} << 32 | static_cast<std::uint32_t>(range.sequence);
}

}  // namespace

Forwards::Forwards(const Trace& trace) : trace_(trace) {
  for (const HostRange& range : trace.ranges)
    if (range.sequence >= 0 && range.forward_thread != 0) numbers_.push_back(number_of(range));
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  forward_.resize(numbers_.size(), kNone);
  std::vector<char> ambiguous(numbers_.size(), 0);
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {  // in order of start, longer ones first
    const HostRange& range = trace.ranges[r];
    if (range.sequence < 0 || range.forward_thread != 0) continue;
    const std::size_t at = place_of(range);
    if (at == numbers_.size()) continue;
    if (forward_[at] == kNone) forward_[at] = r;
    ambiguous[at] |= static_cast<char>(trace.ranges[forward_[at]].thread != range.thread);
  }
  for (std::size_t i = 0; i < forward_.size(); ++i)
    if (ambiguous[i] != 0) forward_[i] = kNone;
  for (const AutogradLink& link : autograd_links(trace))
    if (link.forward != kNone && link.backward != kNone)
      by_arrow_.try_emplace(link.backward, link.forward);
  find_threads();
}

void Forwards::find_threads() {
  works_for_.resize(trace_.threads.size(), kNone);
  std::vector<char> several(trace_.threads.size(), 0);
  for (std::uint32_t r = 0; r < trace_.ranges.size(); ++r) {
    const std::uint32_t forward = of(r);
    if (forward == kNone) continue;
    const std::uint32_t thread = trace_.ranges[r].thread, whose = trace_.ranges[forward].thread;
    several[thread] |=
        static_cast<char>(works_for_[thread] != kNone && works_for_[thread] != whose);
    works_for_[thread] = whose;
  }
  for (std::size_t thread = 0; thread < several.size(); ++thread)
    if (several[thread] != 0) works_for_[thread] = kNone;
}

std::size_t Forwards::place_of(const HostRange& range) const {
  const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), number_of(range));
  const bool found = at != numbers_.end() && *at == number_of(range);
  return found ? static_cast<std::size_t>(at - numbers_.begin()) : numbers_.size();
}

std::uint32_t Forwards::of(std::uint32_t backward) const {
  const HostRange& range = trace_.ranges[backward];
  if (range.forward_thread != 0 && range.sequence >= 0)
    if (const std::size_t at = place_of(range); at < numbers_.size() && forward_[at] != kNone)
      return forward_[at];
  const auto at = by_arrow_.find(backward);
  return at == by_arrow_.end() ? kNone : at->second;
}

std::uint32_t Forwards::thread_of_op(const TraceContext& context, std::size_t op) const {
  if (const std::uint32_t forward = of_op(context, op); forward != kNone)
    return trace_.ranges[forward].thread;
  bool engine = false;
  const std::uint32_t around = context.tree.of_op[op];
  for_each_around(context.tree, around, [&](std::uint32_t r) {
    engine |=
        trace_.names.text(trace_.ranges[r].name).starts_with("autograd::engine::evaluate_function");
  });
  return engine ? works_for_[trace_.ranges[around].thread] : kNone;
}

std::uint32_t Forwards::of_op(const TraceContext& context, std::size_t op) const {
  std::uint32_t found = kNone;
  for_each_around(context.tree, context.tree.of_op[op], [&](std::uint32_t r) {
    if (found == kNone) found = of(r);
  });
  return found;
}

}  // namespace nsa::trace
