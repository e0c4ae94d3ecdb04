// Fields of the document of `trace summary --json`, in its order.
#pragma once

#include "fields.hpp"
#include "nsa/trace/summary.hpp"
#include "table_fields.hpp"

namespace nsa {
namespace trace {

/// Figures of operations as documents have them: null where there are none, those of kernels,
/// copies and memsets also where graphs were recorded as a whole.
struct Figures {
  const GpuFigures* gpu = nullptr;  // absent: not on one time line
  const GpuSums* sums = nullptr;
};

inline Figures figures_of(const GpuFigures& gpu) { return {&gpu, &gpu}; }
template <class Part>
Figures figures_of_part(const Part& part) {
  return figures_of(part.gpu);
}
inline Figures figures_of_step(const Step& step) {
  return step.gpu ? figures_of(*step.gpu) : Figures{};
}
inline Figures figures_of_all(const Summary& s) {
  return {s.gpu ? &*s.gpu : nullptr, s.sums ? &*s.sums : nullptr};
}

/// A figure of all operations.
template <auto kMember>
std::optional<std::int64_t> of_all(const Figures& figures) {
  const auto told = [](const auto* of) { return of ? std::optional(of->*kMember) : std::nullopt; };
  if constexpr (requires(const GpuSums& sums) { sums.*kMember; }) {
    return told(figures.sums);
  } else {
    return told(figures.gpu);
  }
}
/// A figure of kernels, copies or memsets.
template <auto kMember>
std::optional<std::int64_t> of_kernels(const Figures& figures) {
  return figures.sums && figures.sums->whole_graphs > 0 ? std::nullopt : of_all<kMember>(figures);
}
inline std::optional<IdleClasses> idle_classes_of(const Figures& figures) {
  return figures.gpu ? std::optional(figures.gpu->idle_by_class_ns) : std::nullopt;
}
inline std::optional<std::int64_t> whole_graphs_of(const Figures& figures) {
  return figures.sums && figures.sums->whole_graphs > 0 ? std::optional(figures.sums->whole_graphs)
                                                        : std::nullopt;
}

inline bool is_inferred(const StageRow& row) { return row.inferred(); }
inline std::optional<std::string> exposed_comm_waits_of(const Summary& s) {
  return s.exposed_comm_waits();
}
/// A device, without its figures.
struct DeviceId {
  std::int32_t device = 0;
  std::uint32_t part = 0;
};
inline std::optional<DeviceId> worst_device_of(const Summary& s) {
  if (!s.worst_device) return {};
  const DeviceSummary& worst = s.devices.at(*s.worst_device);
  return DeviceId{worst.device, worst.part};
}

}  // namespace trace

namespace fields {

template <>
inline constexpr auto kFields<trace::IdleClasses> =
    std::tuple{or_null("host_wait", &trace::IdleClasses::host_wait),
               or_null("kernel_wait", &trace::IdleClasses::kernel_wait),
               or_null("sync", &trace::IdleClasses::sync),
               or_null("blocking_call", &trace::IdleClasses::blocking_call),
               or_null("profiler_overhead", &trace::IdleClasses::profiler_overhead),
               required("other", &trace::IdleClasses::other)};

template <>
inline constexpr auto kFields<trace::Figures> = std::tuple{
    or_null("span_ns", &trace::of_all<&trace::GpuFigures::span_ns>),
    or_null("busy_ns", &trace::of_all<&trace::GpuFigures::busy_ns>),
    or_null("idle_ns", &trace::of_all<&trace::GpuFigures::idle_ns>),
    or_null("compute_ns", &trace::of_kernels<&trace::GpuFigures::compute_ns>),
    or_null("comm_ns", &trace::of_kernels<&trace::GpuFigures::comm_ns>),
    or_null("mem_ns", &trace::of_kernels<&trace::GpuFigures::mem_ns>),
    or_null("comm_overlapped_by_compute_ns",
            &trace::of_kernels<&trace::GpuFigures::comm_overlapped_by_compute_ns>),
    or_null("exposed_comm_ns", &trace::of_kernels<&trace::GpuFigures::exposed_comm_ns>),
    or_null("kernel_sum_ns", &trace::of_kernels<&trace::GpuSums::kernel_sum_ns>),
    or_null("op_sum_ns", &trace::of_all<&trace::GpuSums::op_sum_ns>),
    or_null("kernels", &trace::of_kernels<&trace::GpuSums::kernels>),
    or_null("memops", &trace::of_kernels<&trace::GpuSums::memops>),
    or_null("comm_kernels", &trace::of_kernels<&trace::GpuSums::comm_kernels>),
    or_null("distinct_kernels", &trace::of_kernels<&trace::GpuSums::distinct_kernels>),
    or_null("same_stream_overlaps", &trace::of_kernels<&trace::GpuSums::same_stream_overlaps>),
    or_null("graph_nodes", &trace::of_kernels<&trace::GpuSums::graph_nodes>),
    or_null("idle_by_class_ns", &trace::idle_classes_of),
    optional("whole_graphs", &trace::whole_graphs_of)};

template <>
inline constexpr auto kFields<trace::KeptCounts> =
    std::tuple{required("gpu_ops", &trace::KeptCounts::ops),
               required("of_gpu_ops", &trace::KeptCounts::of_ops),
               required("api_calls", &trace::KeptCounts::calls),
               required("of_api_calls", &trace::KeptCounts::of_calls)};

template <>
inline constexpr auto kFields<trace::TimesByName> =
    std::tuple{required("name", &trace::TimesByName::name),
               required("count", &trace::TimesByName::count),
               required("total_ns", &trace::TimesByName::total_ns),
               required("min_ns", &trace::TimesByName::min_ns),
               required("median_ns", &trace::TimesByName::median_ns),
               required("max_ns", &trace::TimesByName::max_ns)};

template <>
inline constexpr auto kFields<trace::KernelRow> =
    std::tuple_cat(kFields<trace::TimesByName>,
                   std::tuple{required("comm", &trace::KernelRow::comm),
                              or_null("attention_backend", &trace::KernelRow::attention_backend),
                              required("graph_nodes", &trace::KernelRow::graph_nodes),
                              required("launches", &trace::KernelRow::launches),
                              required("call_ns", &trace::KernelRow::call_ns),
                              required("queue_ns", &trace::KernelRow::queue_ns)});

template <>
inline constexpr auto kFields<trace::LaunchToStart> = std::tuple{
    required("mean", &trace::LaunchToStart::mean), required("p50", &trace::LaunchToStart::p50),
    required("p99", &trace::LaunchToStart::p99), required("max", &trace::LaunchToStart::max)};

template <>
inline constexpr auto kFields<trace::HostSync> =
    std::tuple{required("api", &trace::HostSync::api),
               required("wait", &trace::HostSync::wait),
               required("count", &trace::HostSync::count),
               required("total_ns", &trace::HostSync::total_ns),
               or_null("stage", &trace::HostSync::stage),
               required("stage_inferred", &trace::HostSync::stage_inferred)};

template <>
inline constexpr auto kFields<trace::Step> =
    std::tuple{required("name", &trace::Step::name),
               required("source", &trace::Step::source),
               required("process", &trace::Step::process),
               required("start_ns", &trace::Step::start_ns),
               required("duration_ns", &trace::Step::duration_ns),
               required("api_calls", &trace::Step::api_calls),
               required("host_syncs", &trace::Step::host_syncs),
               required("host_sync_ns", &trace::Step::host_sync_ns),
               or_null("device_start_ns", &trace::Step::device_start_ns),
               or_null("device_ns", &trace::Step::device_ns),
               inlined(&trace::figures_of_step)};

template <>
inline constexpr auto kFields<trace::StageRow> =
    std::tuple{required("stage", &trace::StageRow::stage),
               or_null("parent", &trace::StageRow::parent),
               required("inferred", &trace::is_inferred),
               required("ops", &trace::StageRow::ops),
               required("kernels", &trace::StageRow::kernels),
               required("total_ns", &trace::StageRow::total_ns),
               or_null("busy_ns", &trace::StageRow::busy_ns),
               or_null("idle_ns", &trace::StageRow::idle_ns),
               or_null("backward_ns", &trace::StageRow::backward_ns),
               required("host_syncs", &trace::StageRow::host_syncs),
               required("host_sync_ns", &trace::StageRow::host_sync_ns)};

template <>
inline constexpr auto kFields<trace::AttentionRow> =
    std::tuple{required("backend", &trace::AttentionRow::backend),
               required("kernels", &trace::AttentionRow::kernels),
               required("total_ns", &trace::AttentionRow::total_ns)};

template <>
inline constexpr auto kFields<trace::Allocation> = std::tuple{
    required("bytes", &trace::Allocation::bytes), required("at_ns", &trace::Allocation::at_ns),
    required("device", &trace::Allocation::device)};

template <>
inline constexpr auto kFields<trace::MemorySummary> =
    std::tuple{or_null("peak_allocated_bytes", &trace::MemorySummary::peak_allocated_bytes),
               or_null("peak_reserved_bytes", &trace::MemorySummary::peak_reserved_bytes),
               or_null("last_allocated_bytes", &trace::MemorySummary::last_allocated_bytes),
               or_null("last_reserved_bytes", &trace::MemorySummary::last_reserved_bytes),
               required("top_allocations", &trace::MemorySummary::top_allocations)};

template <>
inline constexpr auto kFields<trace::StreamSummary> =
    std::tuple{required("stream", &trace::StreamSummary::stream),
               required("process", &trace::StreamSummary::process),
               inlined(&trace::figures_of_part<trace::StreamSummary>)};

template <>
inline constexpr auto kFields<trace::DeviceSummary> = std::tuple{
    required("device", &trace::DeviceSummary::device),
    required("part", &trace::DeviceSummary::part), or_null("name", &trace::DeviceSummary::name),
    inlined(&trace::figures_of_part<trace::DeviceSummary>),
    required("streams", &trace::DeviceSummary::streams)};

template <>
inline constexpr auto kFields<trace::DeviceId> = std::tuple{
    required("device", &trace::DeviceId::device), required("part", &trace::DeviceId::part)};

template <>
inline constexpr auto kFields<trace::Summary> = std::tuple{
    required("path", &trace::Summary::path),
    required("format", &trace::Summary::format),
    required("events", &trace::Summary::events),
    or_null("host", &trace::Summary::host),
    or_null("base_time_ns", &trace::Summary::base_time_ns),
    or_null("rank", &trace::Summary::rank),
    or_null("world_size", &trace::Summary::world_size),
    required("first_ns", &trace::Summary::first_ns),
    unless_default("part", &trace::Summary::part),
    optional("kept", &trace::Summary::kept),
    optional("clocks", &trace::Summary::clocks),
    inlined(&trace::figures_of_all),
    or_null("exposed_comm_waits", &trace::exposed_comm_waits_of),
    or_null("api_calls", &trace::Summary::api_calls),
    or_null("kernels_by_name", &trace::Summary::kernels_by_name),
    or_null("gpu_ranges_by_name", &trace::Summary::gpu_ranges_by_name),
    or_null("launch_apis", &trace::Summary::launch_apis),
    or_null("gpu_ops_with_launch", &trace::Summary::gpu_ops_with_launch),
    or_null("gpu_ops_without_launch", &trace::Summary::gpu_ops_without_launch),
    required("gpu_ops_without_time", &trace::Summary::gpu_ops_without_time),
    or_null("launch_to_start_ns", &trace::Summary::launch_to_start_ns),
    or_null("host_syncs", &trace::Summary::host_syncs),
    or_null("partial_overlaps_on_a_thread", &trace::Summary::partial_overlaps_on_a_thread),
    or_null("steps", &trace::Summary::steps),
    or_null("step_times", &trace::Summary::step_times),
    or_null("collectives", &trace::Summary::collectives),
    or_null("copies", &trace::Summary::copies),
    or_null("stages", &trace::Summary::stages),
    or_null("unattributed_ns", &trace::Summary::unattributed_ns),
    or_null("unattributed_idle_ns", &trace::Summary::unattributed_idle_ns),
    or_null("critical_path", &trace::Summary::critical_path),
    or_null("gaps", &trace::Summary::gaps),
    or_null("queue", &trace::Summary::queue),
    or_null("operators", &trace::Summary::operators),
    or_null("annotations", &trace::Summary::annotations),
    or_null("modules", &trace::Summary::modules),
    or_null("attention", &trace::Summary::attention),
    or_null("memory", &trace::Summary::memory),
    or_null("recording", &trace::Summary::recording),
    required("devices", &trace::Summary::devices),
    optional("worst_device", &trace::worst_device_of),
    required("null_reasons", &trace::Summary::null_reasons)};

}  // namespace fields
}  // namespace nsa
