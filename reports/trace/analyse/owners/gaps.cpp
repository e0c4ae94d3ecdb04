// What the host did while a GPU was idle: on the thread that launched what ended the gap, in the
// middle of the time before that launch.
#include <algorithm>
#include <map>
#include <numeric>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "host_at.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLongest = 10;

/// Why nothing ran before an operation.
Doing before(const Context& context, const HostAt& host, std::uint32_t op, std::int64_t start_ns) {
  if (context.launch[op] == kNone) return {"launch_unknown", ""};
  const ApiCall& launch = context.trace.calls[context.launch[op]];
  const std::int64_t until_ns = std::min(launch.start_ns, context.trace.ops[op].start_ns);
  if (until_ns <= start_ns) return {"launch_pending", ""};
  return host.doing(launch.thread, start_ns + (until_ns - start_ns) / 2);
}

class Collector {
 public:
  explicit Collector(const Context& context) : context_(context), host_(context) {}

  void add_device(const DeviceKey& key, const OpIndices& ops) {
    const std::vector<GpuOp>& all = context_.trace.ops;
    std::int64_t busy_until = all[ops.front()].start_ns;
    for (const std::uint32_t i : ops) {
      if (all[i].start_ns > busy_until) add(key, i, busy_until);
      busy_until = std::max(busy_until, all[i].end_ns);
    }
  }

  Gaps take() {
    for (auto& [key, cause] : causes_) gaps_.causes.push_back(std::move(cause));
    std::stable_sort(gaps_.causes.begin(), gaps_.causes.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    shorten();
    return std::move(gaps_);
  }

 private:
  void add(const DeviceKey& key, std::uint32_t op, std::int64_t start_ns) {
    const std::int64_t ns = context_.trace.ops[op].start_ns - start_ns;
    const Doing doing = before(context_, host_, op, start_ns);
    GapCause& cause = causes_[{doing.what, doing.name}];
    cause.what = doing.what;
    cause.name = doing.name;
    ++cause.count;
    add_to(cause.total_ns, ns);
    if (ns <= shortest_) return;
    gaps_.longest.push_back({key.second, key.first, start_ns, ns, doing.what, doing.name,
                             context_.trace.names.text(context_.trace.ops[op].name)});
    if (gaps_.longest.size() > 10 * kLongest) shorten();
  }

  void shorten() {
    std::stable_sort(gaps_.longest.begin(), gaps_.longest.end(),
                     [](const auto& a, const auto& b) { return a.duration_ns > b.duration_ns; });
    if (gaps_.longest.size() <= kLongest) return;
    gaps_.longest.resize(kLongest);
    shortest_ = gaps_.longest.back().duration_ns;
  }

  const Context& context_;
  HostAt host_;
  Gaps gaps_;
  std::int64_t shortest_ = 0;
  std::map<std::pair<std::string, std::string>, GapCause> causes_;
};

}  // namespace

void add_gaps(const Context& context, Summary& out) {
  if (context.trace.ops.empty()) {
    out.null_reasons["gaps"] = "no GPU operation was recorded";
    return;
  }
  OpIndices all(context.trace.ops.size());
  std::iota(all.begin(), all.end(), 0u);
  Collector collector(context);
  for (const auto& [key, ops] : ops_by_device(context, all)) collector.add_device(key, ops);
  out.gaps = collector.take();
}

}  // namespace nsa::trace
