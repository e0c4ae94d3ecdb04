#include "autograd.hpp"

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

}  // namespace nsa::trace
