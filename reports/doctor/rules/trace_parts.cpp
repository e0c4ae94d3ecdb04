#include "trace_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/trace/who.hpp"
#include "words.hpp"

namespace nsa::doctor {

namespace {

/// "rank 3 (rank3.json.gz)"; the file alone where it does not say its rank.
std::string rank_and_path(const trace::Summary& summary) {
  if (!summary.rank) return summary.path;
  return fmt::format("{} ({})", trace::rank_name(summary.rank, 0), summary.path);
}

/// What several ranks share is one finding: that of the rank that can win most, and a line for each
/// of the others.
Found together(Founds founds, const std::vector<const trace::Summary*>& of, std::size_t traces) {
  const auto most = [](const Found& f) { return f.gain.at_most_ns.value_or(0); };
  const auto worst = static_cast<std::size_t>(
      std::max_element(founds.begin(), founds.end(),
                       [&](const Found& a, const Found& b) { return most(a) < most(b); }) -
      founds.begin());
  Found out = founds[worst];
  out.message = fmt::format("in {} of {} traces; most in {}: {}", founds.size(), traces,
                            rank_and_path(*of[worst]), out.message);
  for (std::size_t i = 0; i < founds.size(); ++i) {
    if (i == worst) continue;
    const auto& rank = of[i]->rank;
    out.facts.push_back({.what = (rank ? trace::rank_name(rank, 0) + ": " : "") + founds[i].message,
                         .source = of[i]->path,
                         .ns = founds[i].gain.at_most_ns});
  }
  return out;
}

}  // namespace

namespace {

/// A GPU that does less, of what the busiest one does, is there for something else.
constexpr double kUsedShare = .01;

bool is_noise(const Gain& gain) {
  return gain.at_most_ns && share_of(*gain.at_most_ns, gain.of_ns.value_or(0)) < kNoiseShare;
}

void sort_by_time(std::vector<Fact>& facts) {
  std::stable_sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) {
    return a.ns.value_or(-1) > b.ns.value_or(-1);
  });
}

}  // namespace

Founds each_trace(const RunEvidence& evidence,
                  const std::function<void(const TraceEvidence&, Founds&)>& judge) {
  Founds founds;
  std::vector<const trace::Summary*> of;  // [founds]
  for (const TraceEvidence& trace : evidence.traces) {
    Founds of_trace;
    if (trace.summary.gpu) judge(trace, of_trace);
    for (Found& found : of_trace) {
      if (is_noise(found.gain)) continue;
      sort_by_time(found.facts);
      founds.push_back(std::move(found));
    }
    of.resize(founds.size(), &trace.summary);
  }
  const std::size_t traces = evidence.traces.size();
  if (traces < 2 || founds.empty() || !evidence.one_job) return founds;
  if (founds.size() > 1) return {together(std::move(founds), of, traces)};
  if (of.front()->rank)
    founds.front().message = fmt::format("in 1 of {} traces, {}: {}", traces,
                                         rank_and_path(*of.front()), founds.front().message);
  return founds;
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

bool most(std::optional<std::int64_t> part, std::int64_t whole) {
  return share_of(part.value_or(0), whole) > .5;
}

Group total_of(const std::vector<Group>& groups) {
  Group all;
  for (const Group& group : groups) {
    all.count += group.count;
    all.add(group.total_ns);
  }
  return all;
}

std::string in_text(const Group& group) {
  std::string text = group.by.empty() ? group.name : group.name + " in " + group.by;
  if (!group.caller.empty())
    text += (group.callers > 1 ? ", most of it called by " : ", called by ") + group.caller;
  return text;
}

std::vector<Group> first_of(const std::vector<Group>& groups, std::size_t most) {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, groups.size()));
  return {groups.begin(), groups.begin() + kept};
}

const Group* suspect(const TraceEvidence& trace, std::string_view name) {
  const auto at = std::find_if(trace.suspects.begin(), trace.suspects.end(),
                               [&](const Group& group) { return group.name == name; });
  return at == trace.suspects.end() ? nullptr : &*at;
}

std::int64_t steps_of(const TraceEvidence& trace) {
  const auto& steps = trace.summary.steps;
  return steps && !steps->empty() ? static_cast<std::int64_t>(steps->size()) : 1;
}

std::string a_step(const TraceEvidence& trace, std::int64_t count) {
  const auto& steps = trace.summary.steps;
  if (!steps || steps->size() < 2) return {};
  const std::int64_t of = steps_of(trace);
  if (count < of) return ", less than once a step";
  return ", " +
         (count % of == 0 ? count_text(count / of) : "about " + count_text((count + of / 2) / of)) +
         " a step";
}

const trace::WhatIf* what_if(const TraceEvidence& trace, std::string_view what) {
  if (!trace.summary.critical_path) return nullptr;
  for (const trace::WhatIf& one : trace.summary.critical_path->what_if)
    if (one.what == what && one.name.empty()) return &one;
  return nullptr;
}

std::optional<std::int64_t> path_gain_ns(const TraceEvidence& trace, std::string_view what) {
  if (!trace.summary.critical_path) return {};
  const trace::WhatIf* one = what_if(trace, what);
  return one ? one->gain_ns : 0;
}

double path_share(const TraceEvidence& trace, std::string_view what) {
  return share_of(path_gain_ns(trace, what).value_or(0), trace.summary.gpu->span_ns);
}

Gain path_gain(const TraceEvidence& trace, std::string_view what, const Gain& most,
               const std::string& without) {
  const auto ns = path_gain_ns(trace, what);
  if (!ns) return most;
  if (*ns > most.at_most_ns.value_or(INT64_MAX)) {
    Gain gain = most;
    gain.basis +=
        fmt::format("; the critical path would be {} shorter without {}", time_text(*ns), without);
    return gain;
  }
  Gain gain = gain_in(trace, *ns, "what the critical path would be shorter by without " + without);
  const trace::WhatIf* one = what_if(trace, what);
  if (one && one->at_least) {
    gain.at_least = true;
    gain.basis += ", which slows kernels of other streams beside it";
  }
  return gain;
}

Gain idle_gain(const TraceEvidence& trace) {
  const OneGpu worst = worst_gpu(trace, own_idle_ns);
  return gain_in(trace, own_idle_ns(worst.gpu),
                 fmt::format("all idle time of {} but the profiler's own", worst.name));
}

double graph_share(const TraceEvidence& trace) {
  std::int64_t graphs = 0, all = 0;
  if (!trace.summary.launch_apis) return 0;
  for (const auto& [api, count] : *trace.summary.launch_apis) {
    all += count;
    if (api.find("GraphLaunch") != api.npos) graphs += count;
  }
  return share_of(graphs, all);
}

double compiled_share(const TraceEvidence& trace) {
  Group compiled;
  const auto add = [&](const auto& rows) {
    for (const auto& row : *rows)
      if (row.name.starts_with("Torch-Compiled Region") || row.name == "CompiledFunctionBackward")
        compiled.add(row.gpu_ns);
  };
  if (trace.summary.operators) add(trace.summary.operators);
  if (trace.summary.annotations) add(trace.summary.annotations);
  return share_of(compiled.total_ns, trace.summary.gpu->op_sum_ns);
}

bool is_nsa(const TraceEvidence& trace) {
  if (!trace.summary.stages) return false;
  for (const trace::StageRow& row : *trace.summary.stages)
    for (const std::string_view stage :
         {"compress", "score", "ranges", "attend_compressed", "attend_selected", "attend_window",
          "gate_combine", "pcmp", "pslc", "topk"})
      if (row.stage == stage && !row.inferred()) return true;
  return false;
}

OneGpu worst_gpu(const TraceEvidence& trace,
                 const std::function<std::int64_t(const trace::GpuFigures&)>& lost_ns) {
  const auto& devices = trace.summary.devices;
  std::int64_t busiest = 0;
  for (const trace::DeviceSummary& device : devices)
    busiest = std::max(busiest, device.gpu.busy_ns);
  const trace::DeviceSummary* worst = nullptr;
  std::size_t used = 0;
  for (const trace::DeviceSummary& device : devices) {
    if (share_of(device.gpu.busy_ns, busiest) < kUsedShare) continue;
    ++used;
    if (!worst || lost_ns(device.gpu) > lost_ns(worst->gpu)) worst = &device;
  }
  if (devices.size() < 2 || !worst) return {"the GPU", *trace.summary.gpu};
  return {trace::gpu_name(trace.summary, worst->part, worst->device), worst->gpu, used};
}

std::string on_gpu(const OneGpu& gpu) { return gpu.of > 1 ? " on " + gpu.name : ""; }

std::string most_of(const OneGpu& worst) {
  return worst.of > 1 ? fmt::format(", most of {} GPUs", worst.of) : "";
}

std::int64_t own_idle_ns(const trace::GpuFigures& gpu) {
  return gpu.idle_ns - gpu.idle_by_class_ns.profiler_overhead.value_or(0);
}

std::int64_t host_idle_ns(const trace::GpuFigures& gpu) {
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  return c.host_wait ? *c.host_wait : own_idle_ns(gpu);
}

std::vector<std::uint64_t> ids_of(std::uint64_t id) {
  return id == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{id};
}

}  // namespace nsa::doctor
