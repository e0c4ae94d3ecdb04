// The same values as a document: schemas/json/emitted.schema.json.
#include "nsa/tuner/emit.hpp"

namespace nsa::tuner {
namespace {

Json stage_json(const EmittedStage& stage) {
  Json j = Json::object();
  j["stage"] = to_string(stage.stage);
  j["runs"] = stage.runs.empty() ? Json(nullptr) : Json(stage.runs);
  j["variables"] = stage.variables;
  j["why"] = stage.why;
  if (!stage.measured.empty()) j["measured"] = stage.measured;
  if (!stage.runs.empty()) {  // what is left as it is was compared with nothing
    j["exact"] = stage.exact;
    if (stage.loss) j["loss"] = *stage.loss;
  }
  if (stage.evidence) to_json(j["evidence"], *stage.evidence);
  if (!stage.caution.empty()) j["caution"] = stage.caution;
  if (stage.up_to) {
    j["up_to"]["axis"] = to_string(stage.up_to->axis);
    j["up_to"]["length"] = stage.up_to->length;
  }
  return j;
}

Json reserve_json(const EmittedReserve& reserve) {
  Json j = Json::object();
  j["path"] = reserve.path;
  j["variables"] = reserve.variables;
  if (!reserve.measured.empty()) j["measured"] = reserve.measured;
  if (reserve.bytes) j["bytes"] = *reserve.bytes;
  return j;
}

}  // namespace

Json emission_json(const Emission& e) {
  Json j = Json::object();
  j["schema_version"] = 1;
  j["project"] = e.project;
  j["problem_class"] = e.of_class;
  j["device"] = e.device;
  j["executor"] = e.executor;
  j["stand_ins"] = e.stand_ins;
  j["source"] = e.source;
  j["values"] = Json::object();
  for (const auto& [name, value] : e.values) j["values"][name] = value;
  j["stages"] = Json::array();
  for (const EmittedStage& stage : e.stages) j["stages"].push_back(stage_json(stage));
  j["reserves"] = Json::array();
  for (const EmittedReserve& reserve : e.reserves) j["reserves"].push_back(reserve_json(reserve));
  j["notes"] = e.notes;
  return j;
}

}  // namespace nsa::tuner
