// What the host did while a GPU was idle: sums of the gaps' parts, and the longest gaps.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/idle/gaps.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLongest = 10, kParts = 3;

class Collector {
 public:
  explicit Collector(const TraceContext& context) : context_(context) {}

  void add_device(const DeviceKey& key, const OpIndices& ops) {
    for_each_gap(context_, ops, [&](const IdleGap& gap) { add_gap(key, gap); });
  }

  Gaps take() {
    std::map<std::tuple<std::string, std::string, IdleClass>, GapCause> causes;
    for (const auto& [key, sum] : sums_) {
      GapCause one = cause_of(sum.part, sum.gaps);
      GapCause& cause = causes[{one.what, one.name, sum.part.cause}];
      one.count += cause.count;
      add_to(one.total_ns, cause.total_ns);
      cause = std::move(one);
    }
    for (auto& [key, cause] : causes) gaps_.causes.push_back(std::move(cause));
    std::stable_sort(gaps_.causes.begin(), gaps_.causes.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    shorten();
    return std::move(gaps_);
  }

 private:
  struct Sum {
    IdlePart part;
    std::int64_t gaps = 0;
  };

  GapCause cause_of(const IdlePart& part, std::int64_t gaps) const {
    return {to_string(part.doing.state), name_of(context_.trace, part.doing), to_string(part.cause),
            gaps, part.ns};
  }

  void add_gap(const DeviceKey& key, const IdleGap& gap) {
    for (const IdlePart& part : gap.parts) {
      Sum& sum = sums_[std::uint64_t{part.doing.name} << 16 |
                       static_cast<std::uint64_t>(part.doing.state) << 8 |
                       static_cast<std::uint64_t>(part.cause)];
      const std::int64_t before_ns = sum.part.ns;
      sum.part = part;
      ++sum.gaps;
      add_to(sum.part.ns, before_ns);
    }
    const GpuOp& op = context_.trace.ops[gap.op];
    const std::int64_t ns = op.start_ns - gap.start_ns;
    if (ns <= shortest_) return;
    GapRow row{key.second, key.first, gap.start_ns, ns, {}, {}, {}, {}};
    row.ends_with = context_.trace.names.text(op.name);
    std::vector<IdlePart> parts = gap.parts;
    std::stable_sort(parts.begin(), parts.end(),
                     [](const IdlePart& a, const IdlePart& b) { return a.ns > b.ns; });
    for (std::size_t i = 0; i < std::min(kParts, parts.size()); ++i)
      row.parts.push_back(cause_of(parts[i], 0));
    row.what = row.parts.front().what;
    row.name = row.parts.front().name;
    gaps_.longest.push_back(std::move(row));
    if (gaps_.longest.size() > 10 * kLongest) shorten();
  }

  void shorten() {
    std::stable_sort(gaps_.longest.begin(), gaps_.longest.end(),
                     [](const auto& a, const auto& b) { return a.duration_ns > b.duration_ns; });
    if (gaps_.longest.size() <= kLongest) return;
    gaps_.longest.resize(kLongest);
    shortest_ = gaps_.longest.back().duration_ns;
  }

  const TraceContext& context_;
  Gaps gaps_;
  std::int64_t shortest_ = 0;
  std::unordered_map<std::uint64_t, Sum> sums_;  // by name, state and class
};

}  // namespace

std::string host_did(const GapCause& cause, const std::string& name) {
  if (cause.what == "launch_pending") return "had already launched the next operation";
  if (cause.what == "nothing_recorded") return "did nothing that was recorded";
  if (cause.what == "launch_unknown") return "is not known to have launched";
  if (cause.what == "cuda_own") return "waited for CUDA's own work (modules, a full queue)";
  if (cause.what == "profiler") return "was held up by the profiler";
  if (cause.what == "data_loading") return "loaded data in " + name;
  if (cause.what == "allocation") return "took or gave back memory in " + name;
  return "was in " + name;
}

void add_gaps(const TraceContext& context, Summary& out) {
  if (context.trace.ops.empty()) {
    out.null_reasons["gaps"] = "no GPU operation was recorded";
    return;
  }
  Collector collector(context);
  for (const auto& [key, ops] : ops_by_device(context, all_ops(context.trace)))
    collector.add_device(key, ops);
  out.gaps = collector.take();
}

}  // namespace nsa::trace
