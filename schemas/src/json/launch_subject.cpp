#include "launch_subject.hpp"

#include "fields.hpp"

namespace nsa {

using fields::put;
using fields::require;

void put_subject(Json& j, const LaunchSubject& v) {
  j = Json::object();
  put(j, "id", v.id);
  put(j, "run_id", v.run_id);
  put(j, "executor", v.executor);
  put(j, "placement", v.placement);
  put(j, "problem", v.problem);
  put(j, "variant", v.variant);
  put(j, "source_hash", v.source_hash);
  put(j, "launch", v.launch);
}

void require_subject(const Json& j, LaunchSubject& v) {
  require(j, "id", v.id);
  require(j, "run_id", v.run_id);
  require(j, "executor", v.executor);
  require(j, "placement", v.placement);
  require(j, "problem", v.problem);
  require(j, "variant", v.variant);
  require(j, "source_hash", v.source_hash);
  require(j, "launch", v.launch);
}

}  // namespace nsa
