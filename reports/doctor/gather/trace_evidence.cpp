// From the events of a trace what its summary does not keep: ids, and who called.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "around.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/trace/filter.hpp"
#include "nsa/trace/range_names.hpp"
#include "nsa/trace/waits.hpp"
#include "nsa/trace/warm_up.hpp"

namespace nsa::doctor {
namespace {

using trace::ApiCall;
using trace::GpuOp;
using trace::NameId;
using trace::OpKind;
using trace::Trace;
using trace::WaitKind;

constexpr std::size_t kIds = 3, kGaps = 3;

/// Groups by two names, with the ids of the first events.
class Groups {
 public:
  void add(const std::string& name, const std::string& by, std::int64_t ns, std::uint64_t id,
           WaitKind wait = WaitKind::none) {
    Group& group = groups_[{name, by, wait}];
    group.wait = wait;
    ++group.count;
    if (__builtin_add_overflow(group.total_ns, ns, &group.total_ns)) group.total_ns = INT64_MAX;
    if (id != 0 && group.ids.size() < kIds) group.ids.push_back(id);
  }
  /// Longest total first.
  std::vector<Group> take() {
    std::vector<Group> out;
    for (auto& [key, group] : groups_) {
      group.name = clean(std::get<0>(key));
      group.by = clean(std::get<1>(key));
      out.push_back(std::move(group));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Group& a, const Group& b) { return a.total_ns > b.total_ns; });
    return out;
  }

 private:
  std::map<std::tuple<std::string, std::string, WaitKind>, Group> groups_;
};

void add_calls(const Trace& trace, TraceEvidence& out) {
  const std::vector<NameId> around = ranges_around(trace);
  const std::vector<WaitKind> waits = trace::waits_of_calls(trace);
  Groups of_waits, of_allocations;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    if (waits[i] == WaitKind::none) continue;
    std::string by = trace::plain_range_name(trace.names.text(around[i]));
    if (by == "aten::_local_scalar_dense") by = "aten::item";  // what the user wrote
    (waits[i] == WaitKind::allocation ? of_allocations : of_waits)
        .add(trace.names.text(call.name), by, call.end_ns - call.start_ns, call.correlation,
             waits[i]);
  }
  out.waits = of_waits.take();
  out.allocations = of_allocations.take();
}

/// Between host and device: "Memcpy DtoH (Device -> Pageable)", "[CUDA memcpy HtoD]".
bool crosses(const std::string& name) {
  for (const char* way : {"HtoD", "DtoH", "Host-to-Device", "Device-to-Host"})
    if (name.find(way) != name.npos) return true;
  return false;
}

/// Correlation ids are those of one process.
template <class Event>
std::uint64_t key_of(const Event& event) {
  return event.correlation ^ std::uint64_t{event.process} << 40;
}

void add_ops(const Trace& trace, TraceEvidence& out) {
  std::unordered_map<std::uint64_t, std::int64_t> launch_end;  // of the call
  for (const ApiCall& call : trace.calls) {
    if (call.correlation == 0) continue;
    std::int64_t& end = launch_end[key_of(call)];
    end = std::max(end, call.end_ns);
  }
  Groups copies;
  for (const GpuOp& op : trace.ops) {
    const std::int64_t ns = op.end_ns - op.start_ns;
    if (op.kind == OpKind::copy) {
      const std::string& name = trace.names.text(op.name);
      if (crosses(name)) copies.add(name, "", ns, op.correlation);
    }
    if (op.kind != OpKind::kernel) continue;
    out.short_kernels += ns < kShortKernelNs;
    const auto launch = launch_end.find(key_of(op));
    if (op.correlation == 0 || launch == launch_end.end()) continue;
    ++out.launches;
    out.blocking_launches += launch->second >= op.end_ns;
  }
  out.copies = copies.take();
}

/// Of each GPU alone: one that works does not end the gap of another one.
void add_gaps(const Trace& trace, TraceEvidence& out) {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int64_t> busy_until;
  for (const GpuOp& op : trace.ops) {  // in order of start
    const auto [at, first] =
        busy_until.try_emplace({trace.part_of(op.process), op.device}, op.start_ns);
    if (op.start_ns > at->second)
      out.gaps.push_back({at->second, op.start_ns - at->second, op.correlation});
    at->second = std::max(at->second, op.end_ns);
  }
  const std::size_t kept = std::min(kGaps, out.gaps.size());
  std::partial_sort(out.gaps.begin(), out.gaps.begin() + static_cast<std::ptrdiff_t>(kept),
                    out.gaps.end(),
                    [](const Gap& a, const Gap& b) { return a.duration_ns > b.duration_ns; });
  out.gaps.resize(kept);
}

struct Mark {
  std::string_view word, suspect;
};

/// Kernels that PyTorch's unique and sorting without repeats is made of: nsa-vibe's range
/// converters.
constexpr std::array<Mark, 2> kKernels{
    {{"unique_dim", "range_conversion"}, {"Unique", "range_conversion"}}};
constexpr std::string_view kHeadsCopied = "heads_copied";
constexpr std::array<Mark, 2> kOperators{
    {{"aten::repeat_interleave", kHeadsCopied}, {"CheckpointFunction", "checkpointing"}}};

/// Whether an operator ran within attention, by what a range or module around it is called. The
/// same operator anywhere else copies no heads.
class InAttention {
 public:
  explicit InAttention(const Trace& trace) {
    std::vector<char> of_name(trace.names.size(), 0);
    const auto add = [&](const auto& span) {
      char& known = of_name[span.name];
      if (known == 0) known = names_it(trace.names.text(span.name)) ? 1 : 2;
      if (known == 1) spans_[span.thread].push_back({span.start_ns, span.end_ns});
    };
    for (const trace::HostRange& range : trace.ranges) add(range);
    for (const trace::PythonCall& call : trace.python) add(call);
  }
  bool operator()(const trace::HostRange& range) const {
    const auto of_thread = spans_.find(range.thread);
    if (of_thread == spans_.end()) return false;
    return std::any_of(of_thread->second.begin(), of_thread->second.end(), [&](const auto& span) {
      return span.first <= range.start_ns && range.end_ns <= span.second;
    });
  }

 private:
  static bool names_it(const std::string& name) {
    for (const char* word : {"ttention", "attn", "Attn", "attend_"})
      if (name.find(word) != name.npos) return true;
    return false;
  }
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> spans_;
};

template <std::size_t N>
std::vector<std::string> marked(const Trace& trace, const std::array<Mark, N>& marks) {
  std::vector<std::string> of_name(trace.names.size());
  for (NameId i = 0; i < trace.names.size(); ++i) {
    for (const Mark& mark : marks)
      if (trace.names.text(i).find(mark.word) != std::string::npos)
        of_name[i] = std::string(mark.suspect);
  }
  return of_name;
}

void add_suspects(const Trace& trace, TraceEvidence& out) {
  Groups groups;
  const auto kernels = marked(trace, kKernels), operators = marked(trace, kOperators);
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kernel && !kernels[op.name].empty())
      groups.add(kernels[op.name], "", op.end_ns - op.start_ns, op.correlation);
  }
  const InAttention in_attention(trace);
  for (const trace::HostRange& range : trace.ranges) {
    const std::string& what = operators[range.name];
    if (what.empty() || (what == kHeadsCopied && !in_attention(range))) continue;
    groups.add(what, "", range.end_ns - range.start_ns, 0);
  }
  out.suspects = groups.take();
}

/// Leaves steps at the start that say nothing of the others out of the trace: each of them takes
/// half as long again as the median of all others, and they are a third of all steps at most.
/// Which, in words; "" where there are none.
std::string leave_out_warm_up(trace::Trace& trace) {
  const auto found = trace::warm_up_of(trace);
  if (!found) return {};
  trace::Filter filter;
  filter.steps = found->later;
  trace::keep(filter, trace);
  return fmt::format("the first {} of {} steps: they warmed up ({:.3g} ms each, later ones {:.3g})",
                     found->steps, found->all, static_cast<double>(found->median_ns) / 1e6,
                     static_cast<double>(found->later_median_ns) / 1e6);
}

}  // namespace

TraceEvidence examine_trace(Trace& trace) {
  TraceEvidence out;
  out.left_out = leave_out_warm_up(trace);
  out.summary = trace::summarize(trace);
  out.summary.path = clean(out.summary.path);
  add_calls(trace, out);
  add_ops(trace, out);
  add_gaps(trace, out);
  add_suspects(trace, out);
  return out;
}

}  // namespace nsa::doctor
