#include "tables_json.hpp"

namespace nsa::trace {

Json to_json(const CopyRow& v) {
  return {{"kind", v.kind},
          {"memory", or_null(v.memory)},
          {"count", v.count},
          {"bytes", v.bytes},
          {"total_ns", v.total_ns},
          {"median_gb_per_s", or_null(v.median_gb_per_s)},
          {"best_gb_per_s", or_null(v.best_gb_per_s)}};
}

namespace {

Json row_json(const CollectiveRow& v) {
  return {{"collective", v.collective},
          {"transport", v.transport},
          {"group", v.group},
          {"group_size", or_null(v.group_size)},
          {"dtype", v.dtype},
          {"bytes", or_null(v.bytes)},
          {"count", v.count},
          {"matched", v.matched},
          {"complete", v.complete},
          {"total_ns", v.total_ns},
          {"wait_ns", or_null(v.wait_ns)},
          {"median_ns", v.median_ns},
          {"median_transfer_ns", or_null(v.median_transfer_ns)},
          {"median_spread_ns", or_null(v.median_spread_ns)},
          {"worst_spread_ns", or_null(v.worst_spread_ns)},
          {"median_algorithm_gb_per_s", or_null(v.median_algorithm_gb_per_s)},
          {"median_bus_gb_per_s", or_null(v.median_bus_gb_per_s)},
          {"best_bus_gb_per_s", or_null(v.best_bus_gb_per_s)}};
}

Json row_json(const CollectiveCall& v) {
  return {
      {"collective", v.collective},
      {"group", v.group},
      {"bytes", or_null(v.bytes)},
      {"start_ns", v.start_ns},
      {"ranks", v.ranks},
      {"transfer_ns", v.transfer_ns},
      {"wait_ns", v.wait_ns},
      {"spread_ns", v.spread_ns},
      {"last", {{"part", v.last_part}, {"device", v.last_device}, {"rank", or_null(v.last_rank)}}}};
}

Json row_json(const StragglerRow& v) {
  return {{"part", v.part},          {"device", v.device},
          {"rank", or_null(v.rank)}, {"collectives", v.collectives},
          {"last", v.last},          {"late_ns", v.late_ns},
          {"wait_ns", v.wait_ns},    {"comm_ns", v.comm_ns}};
}

template <class Row>
Json rows_json(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(row_json(row));
  return out;
}

}  // namespace

Json to_json(const Collectives& v) {
  return {{"rows", rows_json(v.rows)},
          {"longest_waits", rows_json(v.longest_waits)},
          {"ranks", rows_json(v.ranks)},
          {"unmatched", v.unmatched},
          {"arrivals", v.arrivals.empty() ? Json(nullptr) : Json(v.arrivals)}};
}

Json to_json(const CriticalPath& v) {
  Json parts = Json::array(), what_if = Json::array();
  for (const PathPart& part : v.parts)
    parts.push_back({{"what", part.what},
                     {"name", part.name},
                     {"count", part.count},
                     {"total_ns", part.total_ns}});
  for (const WhatIf& one : v.what_if)
    what_if.push_back({{"what", one.what},
                       {"name", one.name},
                       {"total_ns", one.total_ns},
                       {"gain_ns", one.gain_ns},
                       {"at_least", one.at_least}});
  return {{"start_ns", v.start_ns}, {"length_ns", v.length_ns}, {"steps", v.steps},
          {"events", v.events},     {"parts", parts},           {"what_if", what_if}};
}

Json to_json(const OperatorRow& v) {
  Json shapes = Json::array();
  for (const OperatorShape& shape : v.shapes)
    shapes.push_back({{"inputs", shape.inputs}, {"count", shape.count}, {"gpu_ns", shape.gpu_ns}});
  return {{"name", v.name},       {"count", v.count},
          {"host_ns", v.host_ns}, {"host_self_ns", v.host_self_ns},
          {"gpu_ns", v.gpu_ns},   {"gpu_self_ns", v.gpu_self_ns},
          {"gpu_ops", v.gpu_ops}, {"flop", or_null(v.flop)},
          {"shapes", shapes}};
}

Json to_json(const AnnotationRow& v) {
  return {{"name", v.name},
          {"count", v.count},
          {"host_ns", v.host_ns},
          {"gpu_ns", v.gpu_ns},
          {"projected_ns", v.projected_ns},
          {"backward_ns", v.backward_ns}};
}

Json to_json(const ModuleRow& v) {
  return {{"name", v.name},
          {"count", v.count},
          {"host_ns", v.host_ns},
          {"gpu_ns", v.gpu_ns},
          {"gpu_self_ns", v.gpu_self_ns},
          {"backward_ns", v.backward_ns}};
}

namespace {

Json causes_json(const std::vector<GapCause>& causes, bool with_count) {
  Json out = Json::array();
  for (const GapCause& cause : causes) {
    Json j{{"what", cause.what},
           {"name", cause.name},
           {"class", cause.idle_class},
           {"total_ns", cause.total_ns}};
    if (with_count) j["count"] = cause.count;
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

Json to_json(const QueueRow& v) {
  return {{"device", v.device},     {"part", v.part}, {"launches", v.launches}, {"most", v.most},
          {"empty_ns", v.empty_ns}, {"mean", v.mean}, {"bin_ns", v.bin_ns},     {"means", v.means}};
}

Json to_json(const Gaps& v) {
  Json longest = Json::array();
  for (const GapRow& gap : v.longest)
    longest.push_back({{"device", gap.device},
                       {"part", gap.part},
                       {"start_ns", gap.start_ns},
                       {"duration_ns", gap.duration_ns},
                       {"what", gap.what},
                       {"name", gap.name},
                       {"ends_with", gap.ends_with},
                       {"parts", causes_json(gap.parts, false)}});
  return {{"longest", longest}, {"causes", causes_json(v.causes, true)}};
}

Json to_json(const StepTimes& v) {
  Json causes = Json::array();
  for (const StepCause& cause : v.causes)
    causes.push_back({{"what", cause.what}, {"more_ns", cause.more_ns}});
  return {{"count", v.count},       {"median_ns", v.median_ns}, {"p95_ns", v.p95_ns},
          {"worst_ns", v.worst_ns}, {"worst", v.worst},         {"on_device", v.on_device},
          {"causes", causes}};
}

}  // namespace nsa::trace
