// What the host did while a GPU was idle: sums of the gaps' parts, and the longest gaps.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/idle/gaps.hpp"
#include "analyse/owners/python_lines.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLongest = 10, kParts = 3, kLines = 3;

class Collector {
 public:
  explicit Collector(const TraceContext& context) : context_(context) {}

  void add_device(const DeviceKey& key, const OpIndices& ops) {
    for_each_gap(context_, ops, [&](const IdleGap& gap) { add_gap(key, gap); });
  }

  Gaps take() {
    using Key = std::tuple<std::string, std::string, IdleClass>;
    std::map<Key, GapCause> causes;
    std::map<Key, LineCounts> lines_of;
    for (const auto& [key, sum] : sums_) {
      GapCause one = cause_of(sum.part, sum.gaps);
      const auto by = std::tuple{one.what, one.name, sum.part.cause};
      GapCause& cause = causes[by];
      one.count += cause.count;
      add_to(one.total_ns, cause.total_ns);
      cause = std::move(one);
      if (const auto lines = of_cause_.find(key); lines != of_cause_.end())
        lines_of[by].add(lines->second);
    }
    for (auto& [key, cause] : causes) {
      if (const auto lines = lines_of.find(key); lines != lines_of.end()) put(lines->second, cause);
      gaps_.causes.push_back(std::move(cause));
    }
    take_lines();
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
  static std::uint64_t key_of(const Doing& doing, IdleClass cause) {
    return std::uint64_t{doing.name} << 16 | static_cast<std::uint64_t>(doing.state) << 8 |
           static_cast<std::uint64_t>(cause);
  }
  template <class Row>
  void put(const LineCounts& counts, Row& row) const {
    row.samples = counts.samples();
    row.lines = counts.largest(context_.trace, kLines);
  }

  void add_samples(const IdleGap& gap) {
    const std::uint32_t process = context_.trace.ops[gap.op].process;
    for (const IdlePiece& piece : gap.pieces)
      context_.lines->visit(process, piece.from_ns, piece.until_ns,
                            [&](std::uint32_t frame, std::int64_t samples) {
                              of_cause_[key_of(piece.doing, piece.cause)].add(frame, samples);
                              of_class_[piece.cause].add(frame, samples);
                            });
  }
  LineCounts lines_in(std::uint32_t process, std::int64_t from_ns, std::int64_t until_ns) const {
    LineCounts counts;
    context_.lines->visit(
        process, from_ns, until_ns,
        [&](std::uint32_t frame, std::int64_t samples) { counts.add(frame, samples); });
    return counts;
  }
  void take_lines() {
    for (const auto& [cause, counts] : of_class_) {
      gaps_.samples += counts.samples();
      for (PythonLine& line : counts.largest(context_.trace, SIZE_MAX))
        gaps_.lines.push_back({std::move(line), to_string(cause)});
    }
    std::stable_sort(
        gaps_.lines.begin(), gaps_.lines.end(),
        [](const GapLine& a, const GapLine& b) { return a.at.samples > b.at.samples; });
  }

  void add_gap(const DeviceKey& key, const IdleGap& gap) {
    for (const IdlePart& part : gap.parts) {
      Sum& sum = sums_[key_of(part.doing, part.cause)];
      const std::int64_t before_ns = sum.part.ns;
      sum.part = part;
      ++sum.gaps;
      add_to(sum.part.ns, before_ns);
    }
    add_samples(gap);
    const GpuOp& op = context_.trace.ops[gap.op];
    const std::int64_t ns = op.start_ns - gap.start_ns;
    if (ns <= shortest_) return;
    GapRow row;
    row.device = key.second;
    row.part = key.first;
    row.start_ns = gap.start_ns;
    row.duration_ns = ns;
    if (context_.lines->any()) put(lines_in(op.process, gap.start_ns, op.start_ns), row);
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
  std::unordered_map<std::uint64_t, Sum> sums_;             // by name, state and class
  std::unordered_map<std::uint64_t, LineCounts> of_cause_;  // by the same
  std::map<IdleClass, LineCounts> of_class_;
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
