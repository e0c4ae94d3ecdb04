#include "nsa/trace/summary_json.hpp"

#include "fields.hpp"
#include "nsa/trace/who.hpp"
#include "tables_json.hpp"

namespace nsa::trace {
namespace {

Json to_json(const IdleClasses& v) {
  return {{"host_wait", or_null(v.host_wait)},
          {"kernel_wait", or_null(v.kernel_wait)},
          {"sync", or_null(v.sync)},
          {"blocking_call", or_null(v.blocking_call)},
          {"profiler_overhead", or_null(v.profiler_overhead)},
          {"other", v.other}};
}

/// Not known where graphs were recorded as a whole.
constexpr const char* kOfKernels[]{"compute_ns",
                                   "comm_ns",
                                   "mem_ns",
                                   "comm_overlapped_by_compute_ns",
                                   "exposed_comm_ns",
                                   "kernel_sum_ns",
                                   "kernels",
                                   "memops",
                                   "comm_kernels",
                                   "distinct_kernels",
                                   "same_stream_overlaps",
                                   "graph_nodes"};

/// The figures of operations under their names; null where there are none.
Json figures(const GpuFigures* v, const GpuSums* sums) {
  Json j = Json::object();
  const auto put = [&](const char* key, std::int64_t GpuFigures::*member) {
    j[key] = v ? Json(v->*member) : Json(nullptr);
  };
  const auto put_sum = [&](const char* key, std::int64_t GpuSums::*member) {
    j[key] = sums ? Json(sums->*member) : Json(nullptr);
  };
  put("span_ns", &GpuFigures::span_ns);
  put("busy_ns", &GpuFigures::busy_ns);
  put("idle_ns", &GpuFigures::idle_ns);
  put("compute_ns", &GpuFigures::compute_ns);
  put("comm_ns", &GpuFigures::comm_ns);
  put("mem_ns", &GpuFigures::mem_ns);
  put("comm_overlapped_by_compute_ns", &GpuFigures::comm_overlapped_by_compute_ns);
  put("exposed_comm_ns", &GpuFigures::exposed_comm_ns);
  put_sum("kernel_sum_ns", &GpuSums::kernel_sum_ns);
  put_sum("op_sum_ns", &GpuSums::op_sum_ns);
  put_sum("kernels", &GpuSums::kernels);
  put_sum("memops", &GpuSums::memops);
  put_sum("comm_kernels", &GpuSums::comm_kernels);
  put_sum("distinct_kernels", &GpuSums::distinct_kernels);
  put_sum("same_stream_overlaps", &GpuSums::same_stream_overlaps);
  put_sum("graph_nodes", &GpuSums::graph_nodes);
  j["idle_by_class_ns"] = v ? to_json(v->idle_by_class_ns) : Json(nullptr);
  if (sums && sums->whole_graphs > 0) {
    for (const char* key : kOfKernels) j[key] = nullptr;
    j["whole_graphs"] = sums->whole_graphs;
  }
  return j;
}

Json figures(const GpuFigures* v) { return figures(v, v); }

Json to_json(const TimesByName& v) {
  return {{"name", v.name},     {"count", v.count},         {"total_ns", v.total_ns},
          {"min_ns", v.min_ns}, {"median_ns", v.median_ns}, {"max_ns", v.max_ns}};
}

Json to_json(const KernelRow& v) {
  Json j = to_json(static_cast<const TimesByName&>(v));
  j["comm"] = v.comm;
  j["attention_backend"] = or_null(v.attention_backend);
  j["graph_nodes"] = v.graph_nodes;
  j["launches"] = v.launches;
  j["call_ns"] = v.call_ns;
  j["queue_ns"] = v.queue_ns;
  return j;
}

Json to_json(const LaunchToStart& v) {
  return {{"mean", v.mean}, {"p50", v.p50}, {"p99", v.p99}, {"max", v.max}};
}

Json to_json(const HostSync& v) {
  return {{"api", v.api},
          {"wait", v.wait},
          {"count", v.count},
          {"total_ns", v.total_ns},
          {"stage", or_null(v.stage)},
          {"stage_inferred", v.stage_inferred}};
}

Json to_json(const Step& v) {
  Json j{{"name", v.name},
         {"source", v.source},
         {"process", v.process},
         {"start_ns", v.start_ns},
         {"duration_ns", v.duration_ns},
         {"api_calls", v.api_calls},
         {"host_syncs", v.host_syncs},
         {"host_sync_ns", v.host_sync_ns},
         {"device_start_ns", or_null(v.device_start_ns)},
         {"device_ns", or_null(v.device_ns)}};
  j.update(figures(v.gpu ? &*v.gpu : nullptr));
  return j;
}

Json to_json(const StageRow& v) {
  return {{"stage", v.stage},
          {"parent", or_null(v.parent)},
          {"inferred", v.inferred()},
          {"ops", v.ops},
          {"kernels", v.kernels},
          {"total_ns", v.total_ns},
          {"busy_ns", or_null(v.busy_ns)},
          {"idle_ns", or_null(v.idle_ns)},
          {"backward_ns", or_null(v.backward_ns)},
          {"host_syncs", v.host_syncs},
          {"host_sync_ns", v.host_sync_ns}};
}

Json to_json(const AttentionRow& v) {
  return {{"backend", v.backend}, {"kernels", v.kernels}, {"total_ns", v.total_ns}};
}

Json to_json(const StreamSummary& v) {
  Json j{{"stream", v.stream}, {"process", v.process}};
  j.update(figures(&v.gpu));
  return j;
}

Json to_json(const Allocation& v) {
  return {{"bytes", v.bytes}, {"at_ns", v.at_ns}, {"device", v.device}};
}

Json to_json(const DeviceSummary& v);

template <class Row>
Json list(const std::vector<Row>& rows) {
  Json j = Json::array();
  for (const Row& row : rows) j.push_back(to_json(row));
  return j;
}

template <class Row>
Json list(const std::optional<std::vector<Row>>& rows) {
  return rows ? list(*rows) : Json(nullptr);
}

Json to_json(const DeviceSummary& v) {
  Json j{{"device", v.device}, {"part", v.part}, {"name", or_null(v.name)}};
  j.update(figures(&v.gpu));
  j["streams"] = list(v.streams);
  return j;
}

Json to_json(const MemorySummary& v) {
  return {{"peak_allocated_bytes", or_null(v.peak_allocated_bytes)},
          {"peak_reserved_bytes", or_null(v.peak_reserved_bytes)},
          {"last_allocated_bytes", or_null(v.last_allocated_bytes)},
          {"last_reserved_bytes", or_null(v.last_reserved_bytes)},
          {"top_allocations", list(v.top_allocations)}};
}

/// Beside each `part` the rank that it is.
void add_ranks(const Summary& s, Json& document) {
  const auto add = [&](Json& row) {
    row["rank"] = or_null(rank_of(s, row.at("part").get<std::uint32_t>()));
  };
  for (Json& device : document["devices"]) add(device);
  if (s.queue)
    for (Json& row : document["queue"]) add(row);
  if (s.gaps)
    for (Json& gap : document["gaps"]["longest"]) add(gap);
  if (s.worst_device) add(document["worst_device"]);
}

}  // namespace

Json to_document(const Summary& s) {
  Json j{{"schema_version", 1},     {"path", s.path},
         {"format", s.format},      {"events", s.events},
         {"host", or_null(s.host)}, {"base_time_ns", or_null(s.base_time_ns)},
         {"rank", or_null(s.rank)}, {"world_size", or_null(s.world_size)}};
  j["first_ns"] = s.first_ns;
  if (!s.part.empty()) j["part"] = s.part;
  if (s.kept)
    j["kept"] = {{"gpu_ops", s.kept->ops},
                 {"of_gpu_ops", s.kept->of_ops},
                 {"api_calls", s.kept->calls},
                 {"of_api_calls", s.kept->of_calls}};
  fields::put(j, "clocks", s.clocks);
  j.update(figures(s.gpu ? &*s.gpu : nullptr, s.sums ? &*s.sums : nullptr));
  j["exposed_comm_waits"] = or_null(s.exposed_comm_waits());
  j["api_calls"] = or_null(s.api_calls);
  j["kernels_by_name"] = list(s.kernels_by_name);
  j["gpu_ranges_by_name"] = list(s.gpu_ranges_by_name);
  j["launch_apis"] = or_null(s.launch_apis);
  j["gpu_ops_with_launch"] = or_null(s.gpu_ops_with_launch);
  j["gpu_ops_without_launch"] = or_null(s.gpu_ops_without_launch);
  j["gpu_ops_without_time"] = s.gpu_ops_without_time;
  j["launch_to_start_ns"] = s.launch_to_start_ns ? to_json(*s.launch_to_start_ns) : Json(nullptr);
  j["host_syncs"] = list(s.host_syncs);
  j["partial_overlaps_on_a_thread"] = or_null(s.partial_overlaps_on_a_thread);
  j["steps"] = list(s.steps);
  j["step_times"] = s.step_times ? to_json(*s.step_times) : Json(nullptr);
  j["collectives"] = s.collectives ? to_json(*s.collectives) : Json(nullptr);
  j["copies"] = list(s.copies);
  j["stages"] = list(s.stages);
  j["unattributed_ns"] = or_null(s.unattributed_ns);
  j["unattributed_idle_ns"] = or_null(s.unattributed_idle_ns);
  j["critical_path"] = s.critical_path ? to_json(*s.critical_path) : Json(nullptr);
  j["gaps"] = s.gaps ? to_json(*s.gaps) : Json(nullptr);
  j["queue"] = list(s.queue);
  j["operators"] = list(s.operators);
  j["annotations"] = list(s.annotations);
  j["modules"] = list(s.modules);
  j["attention"] = list(s.attention);
  j["memory"] = s.memory ? to_json(*s.memory) : Json(nullptr);
  fields::put_or_null(j, "recording", s.recording);
  j["devices"] = list(s.devices);
  if (s.worst_device) {
    const DeviceSummary& worst = s.devices.at(*s.worst_device);
    j["worst_device"] = {{"device", worst.device}, {"part", worst.part}};
  }
  add_ranks(s, j);
  j["null_reasons"] = s.null_reasons;
  return j;
}

Json to_document(const Summary& merged, const std::vector<Summary>& ranks) {
  Json j = to_document(merged);
  j["ranks"] = Json::array();
  for (const Summary& rank : ranks) j["ranks"].push_back(to_document(rank));
  return j;
}

}  // namespace nsa::trace
