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

Json to_json(const StepTimes& v) {
  Json causes = Json::array();
  for (const StepCause& cause : v.causes)
    causes.push_back({{"what", cause.what}, {"more_ns", cause.more_ns}});
  return {{"count", v.count},       {"median_ns", v.median_ns}, {"p95_ns", v.p95_ns},
          {"worst_ns", v.worst_ns}, {"worst", v.worst},         {"on_device", v.on_device},
          {"causes", causes}};
}

}  // namespace nsa::trace
