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
          {"projected_ns", v.projected_ns}};
}

Json to_json(const ModuleRow& v) {
  return {{"name", v.name},
          {"count", v.count},
          {"host_ns", v.host_ns},
          {"gpu_ns", v.gpu_ns},
          {"gpu_self_ns", v.gpu_self_ns},
          {"backward_ns", v.backward_ns}};
}

Json to_json(const Gaps& v) {
  Json longest = Json::array(), causes = Json::array();
  for (const GapRow& gap : v.longest)
    longest.push_back({{"device", gap.device},
                       {"part", gap.part},
                       {"start_ns", gap.start_ns},
                       {"duration_ns", gap.duration_ns},
                       {"what", gap.what},
                       {"name", gap.name},
                       {"ends_with", gap.ends_with}});
  for (const GapCause& cause : v.causes)
    causes.push_back({{"what", cause.what},
                      {"name", cause.name},
                      {"count", cause.count},
                      {"total_ns", cause.total_ns}});
  return {{"longest", longest}, {"causes", causes}};
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
