// Traces: what the GPU does.
#include <fmt/format.h>

#include <algorithm>

#include "rules.hpp"
#include "trace_advice.hpp"
#include "trace_parts.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kCopyShare = .02;  // of the trace's span: can be won
constexpr double kRangeShare = .1;  // of the time of all operations
constexpr double kReservedRatio = 1.5;
constexpr std::int64_t kReservedBytes = std::int64_t{1} << 30;
constexpr std::int64_t kManyAllocations = 20;
/// A few count, too, where they cost so much of the trace's time.
constexpr double kDearShare = .02;
constexpr std::int64_t kDearNs = 1'000'000;
constexpr double kSlowAttentionShare = .05;  // of the time of all operations

/// Whether anything in the evidence says that FA-2 should run.
bool fa2_believed(const RunEvidence& evidence) {
  for (const EnvironmentEvidence& env : evidence.environments)
    for (const char* name : {"NSA_USE_FA2", "NSA_USE_FA2_WIN", "NSA_USE_FA2_CMP"})
      if (env.boolean(name).value_or(false)) return true;
  for (const ConfigEvidence& config : evidence.configs)
    for (const char* key : {"runtime.use_flash", "runtime.fa2_enabled"})
      if (config.boolean(key).value_or(false)) return true;
  return false;
}

/// As if nothing was inferred: an inferred stage is work of the forward or the backward pass.
std::int64_t stage_ns(const TraceEvidence& t, std::string_view stage) {
  std::int64_t ns = 0;
  for (const trace::StageRow& row : t.summary.stages.value_or(std::vector<trace::StageRow>{})) {
    if (!row.inferred()) {
      if (row.stage == stage) ns += row.total_ns;
    } else if (stage == "backward") {
      ns += *row.backward_ns;
    } else if (stage == "forward") {
      ns += row.total_ns - *row.backward_ns;
    }
  }
  return ns;
}

}  // namespace

Founds trace_host_copies(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const Group all = total_of(t.copies);
    const OneGpu worst = worst_gpu(t, [](const trace::GpuFigures& gpu) { return gpu.mem_ns; });
    const std::int64_t ns = std::min(all.total_ns, worst.gpu.mem_ns);
    const Gain gain =
        path_gain(t, "host_copy", gain_in(t, ns, "all time of copies on " + worst.name), "copies");
    if (share_of(gain.at_most_ns.value_or(0), t.summary.gpu->span_ns) <= kCopyShare) return;
    Found found{fmt::format("{} copies between host and device{}, {} in all", count_text(all.count),
                            a_step(t, all.count), time_text(all.total_ns)),
                {},
                gain};
    for (const Group& group : first_of(t.copies, 4))
      found.facts.push_back(fact_of(t, group, group.name));
    found.advice = copy_advice(t);
    founds.push_back(std::move(found));
  });
}

Founds trace_sdpa_fallback(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    Found found{"attention runs in a back end other than flash", {}, {}};
    std::int64_t total = 0;
    for (const trace::AttentionRow& row :
         t.summary.attention.value_or(std::vector<trace::AttentionRow>{})) {
      if (row.backend != "math" && row.backend != "memory_efficient") continue;
      found.facts.push_back({.what = row.backend + " attention",
                             .source = t.summary.path,
                             .count = row.kernels,
                             .ns = row.total_ns});
      total += row.total_ns;
    }
    if (share_of(total, t.summary.gpu->op_sum_ns) <= kSlowAttentionShare) return;
    found.gain = gain_of_work(t, total, "all time of these kernels");
    founds.push_back(std::move(found));
  });
}

Founds trace_fa2_absent(const RunEvidence& evidence) {
  if (!fa2_believed(evidence)) return {};
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const auto& attention = t.summary.attention;
    if (!attention || attention->empty()) return;
    std::vector<Fact> facts;
    std::int64_t total = 0;
    for (const trace::AttentionRow& row : *attention) {
      if (row.backend == "flash") return;
      facts.push_back({.what = row.backend + " attention",
                       .source = t.summary.path,
                       .count = row.kernels,
                       .ns = row.total_ns});
      total += row.total_ns;
    }
    founds.push_back({"FA-2 is assumed to be on, but none of its kernels ran", std::move(facts),
                      gain_of_work(t, total,
                                   "all time of attention; whether FA-2 would be faster is "
                                   "another question")});
  });
}

Founds trace_range_conversion(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const Group* unique = suspect(t, "range_conversion");
    const std::int64_t ns = std::max(stage_ns(t, "ranges"), unique ? unique->total_ns : 0);
    const double share = share_of(ns, t.summary.gpu->op_sum_ns);
    if (share <= kRangeShare) return;
    Fact fact{
        .what = "kernels that turn block ids into ranges", .source = t.summary.path, .ns = ns};
    if (unique) fact = fact_of(t, *unique, "kernels that remove duplicates and merge neighbours");
    Found found{
        fmt::format("{} takes {} of the GPU's work",
                    is_nsa(t) ? "turning block ids into ranges" : "removing duplicates (unique)",
                    percent_text(share)),
        {std::move(fact)},
        gain_of_work(t, ns, "all time of these kernels")};
    if (is_nsa(t))
      found.advice = "let attention take block ids instead of ranges, or merge them in one pass";
    founds.push_back(std::move(found));
  });
}

Founds trace_heads_copied(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const Group* copied = suspect(t, "heads_copied");
    if (!copied) return;
    founds.push_back(
        {"K and V are copied for every query head",
         {fact_of(t, *copied, "aten::repeat_interleave within attention, on the GPU")},
         gain_of_work(t, copied->total_ns, "all time of what these operators launched")});
  });
}

Founds trace_checkpointing(const RunEvidence& evidence) {
  return each_trace(evidence, [&](const TraceEvidence& t, Founds& founds) {
    const Group* again = suspect(t, "checkpointing");
    if (!again) return;
    const std::int64_t forward = stage_ns(t, "forward");
    std::int64_t backward = std::min(t.summary.gpu->busy_ns, stage_ns(t, "backward"));
    if (forward > 0) backward = std::min(backward, forward);  // what runs twice
    founds.push_back(
        {"the backward pass computes layers a second time",
         {fact_of(t, *again, "CheckpointFunctionBackward")},
         backward > 0
             ? gain_of_work(t, backward, "all time of a forward pass within the backward pass")
             : unknown_gain("the trace does not say what belongs to the backward pass"),
         checkpointing_advice(evidence)});
  });
}

Founds trace_fragmentation(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const auto& memory = t.summary.memory;
    if (!memory || !memory->peak_reserved_bytes || !memory->peak_allocated_bytes) return;
    const std::int64_t reserved = *memory->peak_reserved_bytes;
    const std::int64_t used = *memory->peak_allocated_bytes;
    if (reserved - used < kReservedBytes ||
        static_cast<double>(reserved) < kReservedRatio * static_cast<double>(used))
      return;
    founds.push_back(
        {fmt::format("{} reserved for {} in use", gib_text(static_cast<double>(reserved)),
                     gib_text(static_cast<double>(used))),
         {{.what = "peak of the allocator", .source = t.summary.path}},
         unknown_gain("memory, not time")});
  });
}

Founds trace_allocations(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const Group all = total_of(t.allocations);
    const bool dear = path_gain_ns(t, "allocation").value_or(0) >= kDearNs &&
                      path_share(t, "allocation") > kDearShare;
    if (all.count == 0 || (all.count <= kManyAllocations && !dear)) return;
    Gain most = idle_gain(t);
    if (all.total_ns < most.at_most_ns) most = gain_in(t, all.total_ns, "all time of these calls");
    Found found{fmt::format("the driver allocates or releases memory {} times{}",
                            count_text(all.count), a_step(t, all.count)),
                {},
                path_gain(t, "allocation", most, "these calls")};
    for (const Group& group : first_of(t.allocations, 3))
      found.facts.push_back(fact_of(t, group, in_text(group)));
    founds.push_back(std::move(found));
  });
}

}  // namespace nsa::doctor
