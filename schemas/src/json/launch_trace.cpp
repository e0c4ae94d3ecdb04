// JSON of launch traces.
#include "fields.hpp"
#include "launch_subject.hpp"

namespace nsa {

using fields::put;
using fields::read;
using fields::require;

void to_json(Json& j, const TracedKernel& v) {
  j = Json::object();
  put(j, "name", v.name);
  put(j, "count", v.count);
  put(j, "total_ns", v.total_ns);
}

void from_json(const Json& j, TracedKernel& v) {
  require(j, "name", v.name);
  require(j, "count", v.count);
  require(j, "total_ns", v.total_ns);
}

void to_json(Json& j, const LaunchTrace& v) {
  j = Json::object();
  put(j, "kernels", v.kernels);
  put(j, "launches", v.launches);
  put(j, "host_waits", v.host_waits);
  put(j, "allocations", v.allocations);
  put(j, "host_to_device_bytes", v.host_to_device_bytes);
  put(j, "device_to_host_bytes", v.device_to_host_bytes);
  put(j, "device_to_device_bytes", v.device_to_device_bytes);
  put(j, "memset_bytes", v.memset_bytes);
  put(j, "busy_ns", v.busy_ns);
  put(j, "span_ns", v.span_ns);
  put(j, "dropped", v.dropped);
  put(j, "cupti_ns", v.cupti_ns);
  put(j, "events_ns", v.events_ns);
  fields::put_text(j, "note", v.note);
}

void from_json(const Json& j, LaunchTrace& v) {
  v = {};
  require(j, "kernels", v.kernels);
  require(j, "launches", v.launches);
  require(j, "host_waits", v.host_waits);
  require(j, "allocations", v.allocations);
  read(j, "host_to_device_bytes", v.host_to_device_bytes);
  read(j, "device_to_host_bytes", v.device_to_host_bytes);
  read(j, "device_to_device_bytes", v.device_to_device_bytes);
  read(j, "memset_bytes", v.memset_bytes);
  read(j, "busy_ns", v.busy_ns);
  read(j, "span_ns", v.span_ns);
  read(j, "dropped", v.dropped);
  read(j, "cupti_ns", v.cupti_ns);
  read(j, "events_ns", v.events_ns);
  read(j, "note", v.note);
}

void to_json(Json& j, const LaunchTraceRow& v) {
  put_subject(j, v);
  put(j, "traced_at", v.traced_at);
  put(j, "trace", v.trace);
}

void from_json(const Json& j, LaunchTraceRow& v) {
  v = {};
  require_subject(j, v);
  require(j, "traced_at", v.traced_at);
  require(j, "trace", v.trace);
}

}  // namespace nsa
