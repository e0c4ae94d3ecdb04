// Launches that wait for a device, over time: from the begin of the call to the start of the first
// operation that it started there. Graphs are one launch, however many nodes they have.
#include <algorithm>
#include <functional>
#include <queue>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

constexpr std::int64_t kParts = 60;

/// When launches of one device waited. `seen`: [calls] 0; it is left so.
std::vector<Interval> waits_on(const TraceContext& context, const OpIndices& ops,
                               std::vector<char>& seen, QueueRow& row) {
  std::vector<Interval> out;
  out.reserve(ops.size());
  for (const std::uint32_t i : ops) {  // in order of start: the first of a call comes first
    const std::uint32_t launch = context.launch[i];
    if (launch == kNone || seen[launch] != 0) continue;
    seen[launch] = 1;
    ++row.launches;
    const Interval wait{context.trace.calls[launch].start_ns, context.trace.ops[i].start_ns};
    if (wait.begin < wait.end) out.push_back(wait);
  }
  for (const std::uint32_t i : ops)
    if (context.launch[i] != kNone) seen[context.launch[i]] = 0;
  return out;
}

/// How many intervals hold one moment at most. Reorders them.
std::int64_t most_at_once(std::vector<Interval>& waits) {
  std::sort(waits.begin(), waits.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> open;  // their ends
  std::size_t most = 0;
  for (const Interval& wait : waits) {
    while (!open.empty() && open.top() <= wait.begin) open.pop();
    open.push(wait.end);
    most = std::max(most, open.size());
  }
  return static_cast<std::int64_t>(most);
}

/// [parts] Time of the intervals in each equal part of a span, divided by the part's length.
std::vector<double> means_over(const Interval& span, std::int64_t bin_ns,
                               const std::vector<Interval>& waits) {
  const std::int64_t bins = (span.end - span.begin + bin_ns - 1) / bin_ns;
  std::vector<double> out(static_cast<std::size_t>(bins), 0);
  for (const Interval& wait : waits) {
    const std::int64_t end = std::min(wait.end, span.end);
    for (std::int64_t at = std::max(wait.begin, span.begin); at < end;) {
      const std::int64_t bin = (at - span.begin) / bin_ns;
      const std::int64_t until = std::min(end, span.begin + (bin + 1) * bin_ns);
      out[static_cast<std::size_t>(bin)] += static_cast<double>(until - at);
      at = until;
    }
  }
  for (std::size_t bin = 0; bin < out.size(); ++bin) {
    const std::int64_t begin = span.begin + static_cast<std::int64_t>(bin) * bin_ns;
    out[bin] /= static_cast<double>(std::min(bin_ns, span.end - begin));
  }
  return out;
}

QueueRow row_of(const TraceContext& context, const DeviceKey& key, const OpIndices& ops,
                std::vector<char>& seen) {
  QueueRow row;
  row.device = key.second;
  row.part = key.first;
  Interval span{context.trace.ops[ops.front()].start_ns, 0};
  span.end = span.begin;
  for (const std::uint32_t i : ops) span.end = std::max(span.end, context.trace.ops[i].end_ns);
  std::vector<Interval> waits = waits_on(context, ops, seen, row);
  const std::int64_t length_ns = span.end - span.begin;
  if (length_ns == 0) return row;
  row.most = most_at_once(waits);
  row.bin_ns = (length_ns + kParts - 1) / kParts;
  row.means = means_over(span, row.bin_ns, waits);
  double waited_ns = 0;
  for (std::size_t bin = 0; bin < row.means.size(); ++bin)
    waited_ns +=
        row.means[bin] * static_cast<double>(std::min<std::int64_t>(
                             row.bin_ns, length_ns - static_cast<std::int64_t>(bin) * row.bin_ns));
  row.mean = waited_ns / static_cast<double>(length_ns);
  row.empty_ns = length_ns - length_of_intersection({span}, union_of(std::move(waits)));
  return row;
}

}  // namespace

void add_queue(const TraceContext& context, Summary& out) {
  if (context.trace.ops.empty()) return;  // the reason is that of all figures of operations
  const auto known = [](std::uint32_t call) { return call != kNone; };
  if (std::none_of(context.launch.begin(), context.launch.end(), known)) {
    out.null_reasons["queue"] = "no operation refers to a recorded launch call";
    return;
  }
  std::vector<char> seen(context.trace.calls.size(), 0);
  out.queue.emplace();
  for (const auto& [key, ops] : ops_by_device(context, all_ops(context.trace)))
    out.queue->push_back(row_of(context, key, ops, seen));
}

}  // namespace nsa::trace
