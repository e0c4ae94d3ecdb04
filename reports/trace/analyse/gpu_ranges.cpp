#include <algorithm>
#include <map>

#include "analyse/steps/ranges.hpp"
#include "parts.hpp"
#include "sums.hpp"

namespace nsa::trace {

void add_gpu_ranges(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  if (trace.gpu_ranges.empty()) {
    out.null_reasons["gpu_ranges_by_name"] = "no range was timed on the GPU";
    return;
  }
  std::map<std::string, std::vector<std::int64_t>> durations;
  for (const GpuRange& range : trace.gpu_ranges)
    durations[name_of_steps(trace.names.text(range.name))].push_back(range.end_ns - range.start_ns);
  std::vector<TimesByName> rows;
  for (auto& [name, of_name] : durations) rows.push_back(times_by_name(name, of_name));
  std::sort(rows.begin(), rows.end(), larger_total);
  out.gpu_ranges_by_name = std::move(rows);
}

}  // namespace nsa::trace
