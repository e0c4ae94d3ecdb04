// JSON of the hardware counters of a launch.
#include "fields.hpp"
#include "launch_subject.hpp"

namespace nsa {

using fields::put;
using fields::read;
using fields::require;

void to_json(Json& j, const CounterMetric& v) {
  j = Json::object();
  put(j, "name", v.name);
  put(j, "value", v.value);
}

void from_json(const Json& j, CounterMetric& v) {
  require(j, "name", v.name);
  require(j, "value", v.value);
}

void to_json(Json& j, const LaunchCounters& v) {
  j = Json::object();
  fields::put_text(j, "chip", v.chip);
  put(j, "dram_share", v.dram_share);
  put(j, "l2_share", v.l2_share);
  put(j, "tensor_share", v.tensor_share);
  put(j, "dram_read_bytes", v.dram_read_bytes);
  put(j, "dram_write_bytes", v.dram_write_bytes);
  put(j, "busy_ns", v.busy_ns);
  put(j, "passes", v.passes);
  put(j, "metrics", v.metrics);
  fields::put_text(j, "note", v.note);
}

void from_json(const Json& j, LaunchCounters& v) {
  v = {};
  fields::require_object(j);
  read(j, "chip", v.chip);
  read(j, "dram_share", v.dram_share);
  read(j, "l2_share", v.l2_share);
  read(j, "tensor_share", v.tensor_share);
  read(j, "dram_read_bytes", v.dram_read_bytes);
  read(j, "dram_write_bytes", v.dram_write_bytes);
  read(j, "busy_ns", v.busy_ns);
  read(j, "passes", v.passes);
  read(j, "metrics", v.metrics);
  read(j, "note", v.note);
}

void to_json(Json& j, const LaunchCountersRow& v) {
  put_subject(j, v);
  put(j, "cold", v.cold);
  put(j, "outcome", v.outcome);
  put(j, "reason", v.reason);
  put(j, "counted_at", v.counted_at);
  put(j, "counters", v.counters);
}

void from_json(const Json& j, LaunchCountersRow& v) {
  v = {};
  require_subject(j, v);
  require(j, "cold", v.cold);
  require(j, "outcome", v.outcome);
  require(j, "reason", v.reason);
  require(j, "counted_at", v.counted_at);
  require(j, "counters", v.counters);
}

}  // namespace nsa
