// The same values as a document: schemas/json/emitted.schema.json.
#include "nsa/schemas/fields/json.hpp"
#include "nsa/tuner/emit.hpp"

namespace nsa {
namespace {

using tuner::Emission;
using tuner::EmittedReserve;
using tuner::EmittedStage;
using tuner::LengthLimit;

int schema_version_of(const Emission&) { return 1; }
std::optional<std::string> runs_of(const EmittedStage& stage) {
  return stage.runs.empty() ? std::nullopt : std::optional(stage.runs);
}
/// What is left as it is was compared with nothing.
std::optional<bool> exact_of(const EmittedStage& stage) {
  return stage.runs.empty() ? std::nullopt : std::optional(stage.exact);
}
std::optional<double> loss_of(const EmittedStage& stage) {
  return stage.runs.empty() ? std::nullopt : stage.loss;
}

}  // namespace

namespace fields {

template <>
inline constexpr auto kFields<LengthLimit> =
    std::tuple{required("axis", &LengthLimit::axis), required("length", &LengthLimit::length)};

template <>
inline constexpr auto kFields<EmittedStage> =
    std::tuple{required("stage", &EmittedStage::stage),
               or_null("runs", runs_of),
               required("variables", &EmittedStage::variables),
               required("why", &EmittedStage::why),
               unless_default("measured", &EmittedStage::measured),
               optional("exact", exact_of),
               optional("loss", loss_of),
               optional("evidence", &EmittedStage::evidence),
               unless_default("caution", &EmittedStage::caution),
               optional("up_to", &EmittedStage::up_to)};

template <>
inline constexpr auto kFields<EmittedReserve> = std::tuple{
    required("path", &EmittedReserve::path), required("variables", &EmittedReserve::variables),
    unless_default("measured", &EmittedReserve::measured),
    optional("bytes", &EmittedReserve::bytes)};

template <>
inline constexpr auto kFields<Emission> = std::tuple{required("schema_version", schema_version_of),
                                                     required("project", &Emission::project),
                                                     required("problem_class", &Emission::of_class),
                                                     required("device", &Emission::device),
                                                     required("executor", &Emission::executor),
                                                     required("stand_ins", &Emission::stand_ins),
                                                     required("source", &Emission::source),
                                                     required("values", &Emission::values),
                                                     required("stages", &Emission::stages),
                                                     required("reserves", &Emission::reserves),
                                                     required("notes", &Emission::notes)};

}  // namespace fields

Json tuner::emission_json(const Emission& emission) { return fields::object_of(emission); }

}  // namespace nsa
