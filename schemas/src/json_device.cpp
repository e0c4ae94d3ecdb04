// JSON of variants, devices and runs: who ran what, and where.
#include "json_fields.hpp"

namespace nsa {

using fields::put;
using fields::put_text;
using fields::read;
using fields::require;

void to_json(Json& j, const Point& v) {
  j = Json::object();
  for (const auto& [name, value] : v) j[name] = value;
}

void from_json(const Json& j, Point& v) {
  fields::require_object(j);
  v.clear();
  for (const auto& [name, value] : j.items())
    require(j, name.c_str(), v.emplace_back(name, 0).second);
}

void to_json(Json& j, const VariantId& v) {
  j = Json::object();
  put(j, "stages", v.stages);
  put(j, "name", v.name);
  to_json(j["point"], v.point);
}

void from_json(const Json& j, VariantId& v) {
  v = {};
  require(j, "stages", v.stages);
  require(j, "name", v.name);
  if (const auto point = j.find("point"); point != j.end()) from_json(*point, v.point);
  v = with_current_coordinates(std::move(v));
}

void to_json(Json& j, const Device& v) {
  j = Json::object();
  put(j, "id", v.id);
  put(j, "backend", v.backend);
  put(j, "name", v.name);
  put(j, "uuid", v.uuid);
  put(j, "compute_capability", v.compute_capability);
  put(j, "multiprocessors", v.multiprocessors);
  put(j, "memory_bytes", v.memory_bytes);
  put(j, "memory_free_bytes", v.memory_free_bytes);
  put(j, "l2_bytes", v.l2_bytes);
  put(j, "power_limit_w", v.power_limit_w);
  put(j, "max_clock_mhz", v.max_clock_mhz);
  put(j, "mig", v.mig);
  put(j, "ecc", v.ecc);
  put_text(j, "isa", v.isa);
  put_text(j, "driver", v.driver);
  put_text(j, "runtime", v.runtime);
}

void from_json(const Json& j, Device& v) {
  v = {};
  require(j, "id", v.id);
  require(j, "backend", v.backend);
  require(j, "name", v.name);
  read(j, "uuid", v.uuid);
  read(j, "compute_capability", v.compute_capability);
  read(j, "multiprocessors", v.multiprocessors);
  read(j, "memory_bytes", v.memory_bytes);
  read(j, "memory_free_bytes", v.memory_free_bytes);
  read(j, "l2_bytes", v.l2_bytes);
  read(j, "power_limit_w", v.power_limit_w);
  read(j, "max_clock_mhz", v.max_clock_mhz);
  read(j, "mig", v.mig);
  read(j, "ecc", v.ecc);
  read(j, "isa", v.isa);
  read(j, "driver", v.driver);
  read(j, "runtime", v.runtime);
}

void to_json(Json& j, const Capability& v) {
  j = Json::object();
  put(j, "library", v.library);
  put(j, "usable", v.usable);
  put_text(j, "version", v.version);
  put_text(j, "reason", v.reason);
}

void to_json(Json& j, const Placed& v) {
  j = Json::object();
  put(j, "host", v.host);
  put(j, "device_uuid", v.device_uuid);
}

void from_json(const Json& j, Placed& v) {
  require(j, "host", v.host);
  require(j, "device_uuid", v.device_uuid);
}

}  // namespace nsa
