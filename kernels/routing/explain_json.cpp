// explain() as a document: schemas/json/explain.schema.json.
#include <cmath>

#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

template <class T>
Json as_json(const T& value) {
  Json j;
  to_json(j, value);
  return j;
}

Json decision_json(const Explanation& line) {
  Json j = Json::object();
  j["stage"] = stages_text(line.stages);
  j["stages"] = Json::array();
  for (const Stage stage : line.stages) j["stages"].push_back(to_string(stage));
  j["variant"] = line.variant.empty() ? Json(nullptr) : Json(line.variant);
  j["source"] = to_string(line.source);
  j["why"] = line.why;
  j["axis"] = to_string(line.axis);
  j["axis_value"] = line.axis_value;
  j["fit"] = to_string(line.fit);
  j["device_fit"] = to_string(line.device_fit);
  j["stale"] = line.stale;
  if (line.basis) j["basis"] = to_string(*line.basis);
  j["slow_path"] = line.slow_path;
  if (line.fallback_reason) j["fallback_reason"] = *line.fallback_reason;
  if (line.evidence) j["evidence"] = as_json(*line.evidence);
  if (line.overridden) j["overridden"] = *line.overridden;
  if (line.override_cost && std::isfinite(*line.override_cost)) {
    j["override_cost"] = *line.override_cost;
  }
  return j;
}

Json options_json(const AttentionOptions& options) {
  Json j = Json::object();
  j["rope_scale"] = options.rope_scale;
  j["uniform_gate"] = options.uniform_gate;
  j["force_branch"] = forced_index(options);
  return j;
}

Json validator_json(const ValidatorCheck& check) {
  Json j = Json::object();
  j["name"] = check.name;
  j["recorded"] = check.recorded;
  j["here"] = check.here;
  j["verdict"] = to_string(check.holds);
  return j;
}

Json name_json(const NameEffect& name) {
  Json j = Json::object();
  j["name"] = name.name;
  j["value"] = name.value;
  j["effective"] = name.effective;
  j["reason"] = name.reason;
  return j;
}

template <class T>
Json list(const std::vector<T>& values, Json (*convert)(const T&)) {
  Json j = Json::array();
  for (const T& value : values) j.push_back(convert(value));
  return j;
}

}  // namespace

Json explain_to_json(const ExplainReport& report) {
  Json j = Json::object();
  j["device"] = as_json(report.device);
  j["device_fit"] = to_string(report.device_fit);
  j["problem"] = as_json(report.problem);
  j["table_path"] = report.table_path.empty() ? Json(nullptr) : Json(report.table_path);
  j["decisions"] = list(report.decisions, decision_json);
  j["reserves"] = as_json(report.reserves);
  j["constants"] = options_json(report.options);
  j["validators"] = list(report.validators, validator_json);
  j["names"] = list(report.names, name_json);
  j["warnings"] = report.warnings;
  // Values of variables may hold any bytes; a document holds UTF-8.
  return Json::parse(j.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string to_json_text(const ExplainReport& report) { return explain_to_json(report).dump(); }

}  // namespace nsa
