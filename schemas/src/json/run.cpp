// JSON of runs and of the environment in which they ran.
#include "fields.hpp"

namespace nsa {

using fields::put;
using fields::read;
using fields::require;

static void to_json(Json& j, const EnvironmentFact& v) {
  j = Json::object();
  put(j, "key", v.key);
  put(j, "value", v.value);
  put(j, "epoch", v.epoch);
}

static void from_json(const Json& j, EnvironmentFact& v) {
  require(j, "key", v.key);
  require(j, "value", v.value);
  read(j, "epoch", v.epoch);
}

void to_json(Json& j, const Environment& v) { j = fields::value_of(v.facts); }
void from_json(const Json& j, Environment& v) { fields::get(j, v.facts); }

void to_json(Json& j, const Run& v) {
  j = Json::object();
  put(j, "id", v.id);
  put(j, "spec_hash", v.spec_hash);
  put(j, "spec_json", v.spec_json);
  put(j, "build_id", v.build_id);
  put(j, "environment_hash", v.environment_hash);
  put(j, "environment", v.environment);
  put(j, "devices", v.devices);
  put(j, "started_at", v.started_at);
  put(j, "ended_at", v.ended_at);
  put(j, "state", v.state);
}

void from_json(const Json& j, Run& v) {
  v = {};
  require(j, "id", v.id);
  require(j, "spec_hash", v.spec_hash);
  require(j, "spec_json", v.spec_json);
  require(j, "build_id", v.build_id);
  require(j, "environment_hash", v.environment_hash);
  require(j, "environment", v.environment);
  require(j, "devices", v.devices);
  require(j, "started_at", v.started_at);
  read(j, "ended_at", v.ended_at);
  require(j, "state", v.state);
}

}  // namespace nsa
