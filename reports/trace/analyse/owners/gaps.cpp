// What the host did while a GPU was idle, moment by moment: until the operation that ends the gap
// was launched what that thread did; where nothing of it was recorded, what the thread did that had
// launched the operation before; and from then on the launch was pending.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "host_at.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLongest = 10, kParts = 3;

struct Stretch {
  Doing doing;
  std::int64_t ns = 0;
};
using Stretches = std::vector<Stretch>;  // one for each thing that was done

void add(const Doing& doing, std::int64_t ns, Stretches& to) {
  if (ns <= 0) return;
  const auto known =
      std::find_if(to.begin(), to.end(), [&](const Stretch& of) { return of.doing == doing; });
  if (known == to.end()) {
    to.push_back({doing, ns});
  } else {
    known->ns += ns;
  }
}

/// The host along the time line of one device.
class Host {
 public:
  Host(const TraceContext& context, const HostAt& at) : context_(context), at_(at) {}

  /// What it did from the end of the work before `op` to its start; `before` is the operation whose
  /// end that is.
  Stretches during(std::int64_t start_ns, std::uint32_t before, std::uint32_t op) {
    Stretches out;
    const std::int64_t end_ns = context_.trace.ops[op].start_ns;
    if (context_.launch[op] == kNone) {
      add({HostState::launch_unknown}, end_ns - start_ns, out);
      return out;
    }
    const ApiCall& launch = call(op);
    const std::int64_t launched_ns = std::clamp(launch.start_ns, start_ns, end_ns);
    const bool handed_over =
        context_.launch[before] != kNone && call(before).thread != launch.thread;
    line(launch.thread).walk(start_ns, launched_ns, [&](const Doing& doing, auto from, auto until) {
      if (doing.state != HostState::nothing_recorded || !handed_over)
        return add(doing, until - from, out);
      line(call(before).thread).walk(from, until, [&](const Doing& other, auto a, auto b) {
        add(other, b - a, out);
      });
    });
    add({HostState::launch_pending}, end_ns - launched_ns, out);
    return out;
  }

 private:
  const ApiCall& call(std::uint32_t op) const { return context_.trace.calls[context_.launch[op]]; }
  HostLine& line(std::uint32_t thread) {
    return lines_.try_emplace(thread, at_, thread).first->second;
  }

  const TraceContext& context_;
  const HostAt& at_;
  std::map<std::uint32_t, HostLine> lines_;  // by thread
};

class Collector {
 public:
  explicit Collector(const TraceContext& context) : context_(context), at_(context) {}

  void add_device(const DeviceKey& key, const OpIndices& ops) {
    const std::vector<GpuOp>& all = context_.trace.ops;
    Host host(context_, at_);
    std::uint32_t last = ops.front();  // of those so far the one that ends last
    for (const std::uint32_t i : ops) {
      if (all[i].start_ns > all[last].end_ns)
        add_gap(key, i, all[last].end_ns, host.during(all[last].end_ns, last, i));
      if (all[i].end_ns > all[last].end_ns) last = i;
    }
  }

  Gaps take() {
    std::map<std::pair<std::string, std::string>, GapCause> causes;
    for (const auto& [key, sum] : sums_) {
      const std::pair named{std::string(to_string(sum.doing.state)),
                            name_of(context_.trace, sum.doing)};
      GapCause& cause = causes[named];
      std::tie(cause.what, cause.name) = named;
      cause.count += sum.gaps;
      add_to(cause.total_ns, sum.ns);
    }
    for (auto& [key, cause] : causes) gaps_.causes.push_back(std::move(cause));
    std::stable_sort(gaps_.causes.begin(), gaps_.causes.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    shorten();
    return std::move(gaps_);
  }

 private:
  struct Sum {
    Doing doing;
    std::int64_t gaps = 0, ns = 0;
  };

  void add_gap(const DeviceKey& key, std::uint32_t op, std::int64_t start_ns, Stretches stretches) {
    for (const Stretch& stretch : stretches) {
      Sum& sum = sums_[std::uint64_t{stretch.doing.name} << 8 |
                       static_cast<std::uint64_t>(stretch.doing.state)];
      sum.doing = stretch.doing;
      ++sum.gaps;
      add_to(sum.ns, stretch.ns);
    }
    const std::int64_t ns = context_.trace.ops[op].start_ns - start_ns;
    if (ns <= shortest_) return;
    GapRow row{key.second, key.first, start_ns, ns, {}, {}, {}, {}};
    row.ends_with = context_.trace.names.text(context_.trace.ops[op].name);
    std::stable_sort(stretches.begin(), stretches.end(),
                     [](const Stretch& a, const Stretch& b) { return a.ns > b.ns; });
    for (std::size_t i = 0; i < std::min(kParts, stretches.size()); ++i)
      row.parts.push_back({to_string(stretches[i].doing.state),
                           name_of(context_.trace, stretches[i].doing), 1, stretches[i].ns});
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
  HostAt at_;
  Gaps gaps_;
  std::int64_t shortest_ = 0;
  std::unordered_map<std::uint64_t, Sum> sums_;  // by name and state
};

}  // namespace

std::string host_did(const GapCause& cause, const std::string& name) {
  if (cause.what == "launch_pending") return "had launched already";
  if (cause.what == "nothing_recorded") return "did nothing that was recorded";
  if (cause.what == "launch_unknown") return "is not known to have launched";
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
