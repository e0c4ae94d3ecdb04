#include "trace_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "nsa/trace/python_lines.hpp"
#include "nsa/trace/who.hpp"
#include "trace_parts.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kMostly = .5;
/// Of what the host does at a time outside of operators: longer than the interpreter takes between
/// two of them.
constexpr std::int64_t kLongNs = 100'000;

/// Whose time it is: of the row that takes most.
std::string main_collective(const TraceEvidence& t) {
  if (!t.summary.collectives || t.summary.collectives->rows.empty()) return {};
  return t.summary.collectives->rows.front().collective;
}

/// The rank that others wait for most, where that is half of what communication costs or more.
std::optional<trace::StragglerRow> straggler(const TraceEvidence& t) {
  if (!t.summary.collectives) return {};
  const auto& ranks = t.summary.collectives->ranks;
  std::int64_t waits = 0, late = 0;  // of the rank that waits most; of all that came late
  for (const trace::StragglerRow& row : ranks) {
    waits = std::max(waits, row.wait_ns);
    late += row.late_ns;
  }
  const std::int64_t exposed = worst_gpu(t, [](const trace::GpuFigures& gpu) {
                                 return gpu.exposed_comm_ns;
                               }).gpu.exposed_comm_ns;
  if (ranks.empty() || 2 * waits < exposed) return {};
  return most(ranks.front().late_ns, late) ? std::optional(ranks.front()) : std::nullopt;
}

void advise_on_buckets(const TraceEvidence& t, Found& found) {
  found.advice = "gradient accumulation";
  if (is_nsa(t))
    found.exports = {"NSA_DDP_BUCKET_MB=50", "NSA_DDP_STATIC_GRAPH=1"};
  else
    found.advice = "larger gradient buckets, a static graph, gradient accumulation";
}

/// What of it takes longest, where most of what the host does in idle time is long and outside of
/// operators.
const trace::GapCause* long_work_outside(const TraceEvidence& t) {
  if (!t.summary.gaps) return nullptr;
  std::int64_t all = 0, outside = 0, times = 0;
  const trace::GapCause* longest = nullptr;
  for (const trace::GapCause& cause : t.summary.gaps->causes) {
    if (cause.idle_class == "kernel_wait" || cause.idle_class == "other" ||
        cause.idle_class == "profiler_overhead")
      continue;
    all += cause.total_ns;
    if (cause.what != "nothing_recorded" && cause.what != "annotation" && cause.what != "python")
      continue;
    outside += cause.total_ns;
    times += cause.count;
    if (!longest) longest = &cause;  // they come with the longest first
  }
  return most(outside, all) && outside > kLongNs * times ? longest : nullptr;
}

/// What to do about a wait, by what it waits for and who asked for it.
enum class Remedy : std::uint8_t { keep_on_gpu, pin, no_synchronise, load_before };

Remedy remedy_of(const Group& wait) {
  const bool copies = wait.by.find("copy") != wait.by.npos || wait.by == "aten::to";
  const bool in_operator = wait.by.starts_with("aten::") && !copies;
  switch (wait.wait) {
    case trace::WaitKind::module_loading:
      return Remedy::load_before;
    case trace::WaitKind::copy:  // an operator that needs the value reads it back by a copy
      return in_operator ? Remedy::keep_on_gpu : Remedy::pin;
    case trace::WaitKind::sync:
      return wait.by.starts_with("aten::") ? Remedy::keep_on_gpu : Remedy::no_synchronise;
    default:
      return Remedy::keep_on_gpu;
  }
}

/// Of copies that are not known to be pinned, in the direction of most of them.
std::string pin_advice(const TraceEvidence& t) {
  std::int64_t to_host = 0, to_device = 0;
  for (const Group& copy : t.copies)
    (trace::copy_kind(copy.name) == "DtoH" ? to_host : to_device) +=
        copy.name.find("Pinned") == copy.name.npos ? copy.total_ns : 0;
  if (to_host > to_device)
    return "copy into pinned memory with non_blocking=True, and wait for it once, where the values "
           "are read";
  return "pin the host's memory (pin_memory=True) and copy with non_blocking=True";
}

/// The line where it does that, or who would name it.
std::string named_by(const trace::GapCause& cause) {
  if (!cause.lines.empty()) return ", at " + line_text(cause.lines.front());
  return cause.what == "python" ? ""
                                : "; with_stack=True or `nsatune trace record --python-stacks "
                                  "10ms` names the line";
}

}  // namespace

std::string host_state_text(const trace::GapCause& cause) {
  return trace::host_did(cause, clean(cause.name, 100));
}

std::string line_text(const trace::PythonLine& line) {
  return clean(trace::line_text(line.file, line.line, line.function), 100);
}

std::string collective_text(const trace::CollectiveRow& row) {
  std::string text = row.collective;
  if (row.bytes) text += fmt::format(" of {} bytes", count_text(*row.bytes));
  if (!row.group.empty()) text += " in group " + row.group;
  text += " by " + row.transport;
  const char* least = row.bounds() ? "at least " : "";
  if (row.wait_ns)
    text += fmt::format(", of it {}{} waiting for others", least, time_text(*row.wait_ns));
  if (row.median_bus_gb_per_s)
    text += fmt::format(", {}{:.3g} GB/s over the bus", least, *row.median_bus_gb_per_s);
  return text;
}

std::string host_advice(const TraceEvidence& t) {
  if (const trace::GapCause* cause = long_work_outside(t))
    return fmt::format(
        "move out of the step what the program does outside of operators, where it mostly {}{}",
        host_state_text(*cause), named_by(*cause));
  if (graph_share(t) > kMostly)
    return "most of it is launched by graphs already: shorten what the host does between them, or "
           "put several steps into one";
  if (compiled_share(t) > kMostly)
    return "most of it is compiled already: capture a CUDA graph (torch.compile with "
           "mode=\"reduce-overhead\"), or enlarge the batch";
  return "fuse (torch.compile), capture a CUDA graph, or enlarge the batch";
}

std::int64_t long_pending_ns(const TraceEvidence& t) {
  constexpr std::int64_t kLaunchNs = 50'000;  // more than one takes to reach an idle GPU
  if (!t.summary.gaps) return 0;
  for (const trace::GapCause& cause : t.summary.gaps->causes)
    if (cause.what == "launch_pending")
      return cause.total_ns > kLaunchNs * cause.count ? cause.total_ns : 0;
  return 0;
}

namespace {

/// Where kernels wait though they were launched long ago.
std::string pending_advice(const TraceEvidence& t) {
  const bool streams = std::ranges::any_of(
      t.summary.devices, [](const trace::DeviceSummary& d) { return d.streams.size() > 1; });
  std::string text = "most of it passed after the launch: look for ";
  if (streams) text += "streams that wait for each other, ";
  if (t.summary.world_size.value_or(1) > 1) text += "ranks that come late, ";
  return text + "other processes on this GPU";
}

}  // namespace

std::string idle_advice(const TraceEvidence& t, const trace::GpuFigures& gpu) {
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  const std::int64_t idle = own_idle_ns(gpu);
  if (most(path_gain_ns(t, "data_loading"), idle))
    return "load data sooner: see the finding about data";
  const std::int64_t waits =
      path_gain_ns(t, "host_wait").value_or(c.sync.value_or(0) + c.blocking_call.value_or(0));
  const std::int64_t host = path_gain_ns(t, "host").value_or(c.host_wait.value_or(0));
  if (waits > host && most(waits, idle))
    return "let the host wait less: see which calls it waits in";
  const bool pending = most(long_pending_ns(t), idle);
  if (pending && most(host, idle))
    return pending_advice(t) + "; besides, the host is slow: " + host_advice(t);
  if (most(host, idle)) return "the host is too slow: " + host_advice(t);
  if (pending || most(c.kernel_wait, idle)) return pending_advice(t);
  return "look for the cause in the other findings";
}

void advise_on_waits(const TraceEvidence& t, Found& found) {
  std::map<Remedy, std::int64_t> ns;
  for (const Group& wait : t.waits) ns[remedy_of(wait)] += wait.total_ns;
  const auto largest = std::max_element(
      ns.begin(), ns.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == ns.end()) return;
  switch (largest->first) {
    case Remedy::pin:
      found.advice = pin_advice(t);
      break;
    case Remedy::no_synchronise:
      found.advice =
          "synchronise less: no torch.cuda.synchronize() or cudaDeviceSynchronize in the step; "
          "time with events";
      break;
    case Remedy::load_before:
      found.advice = "load modules before the first step: warm up";
      found.exports = {"CUDA_MODULE_LOADING=EAGER"};
      break;
    case Remedy::keep_on_gpu:
      break;  // as the rule says
  }
}

std::string copy_advice(const TraceEvidence& t) {
  std::int64_t pinned = 0, pageable = 0;
  for (const Group& group : t.copies) {
    if (group.name.find("Pinned") != std::string::npos) pinned += group.total_ns;
    if (group.name.find("Pageable") != std::string::npos) pageable += group.total_ns;
  }
  if (pinned > pageable)
    return "most of it is pinned already: keep it on the GPU, send less, or copy on another stream "
           "while something is computed";
  return {};
}

void advise_on_communication(const TraceEvidence& t, Found& found) {
  if (const auto late = straggler(t)) {
    const std::string who = late->rank ? trace::rank_name(late->rank, late->part)
                                       : trace::gpu_name(t.summary, late->part, late->device);
    found.advice = fmt::format(
        "at least half of it is waiting for {}, which came last in {} of {} collectives: find out "
        "why its steps take longer",
        who, late->last, late->collectives);
    return;
  }
  const std::string main = main_collective(t);
  if (main == "all_reduce" || main == "reduce_scatter") advise_on_buckets(t, found);
  if (main == "all_gather")
    found.advice =
        "fetch parameters earlier (FSDP: forward_prefetch, backward_prefetch), or shard less";
  if (main == "all_to_all")
    found.advice =
        "overlap the exchange with computation of another micro-batch; balance what goes to each "
        "rank";
  if (main == "send_recv" || main == "send" || main == "recv")
    found.advice = "more micro-batches in the pipeline, or stages of equal length";
}

}  // namespace nsa::doctor
