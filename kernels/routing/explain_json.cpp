// explain() as a document: schemas/json/explain.schema.json.
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa {
namespace {

std::string stage_of(const Explanation& line) { return stages_text(line.stages); }
std::optional<std::string> variant_of(const Explanation& line) {
  return line.variant.empty() ? std::nullopt : std::optional(line.variant);
}
std::string name_of(const ValidatorCheck& check) { return std::string(check.name); }
std::optional<std::string> path_of(const ExplainReport& report) {
  return report.table_path.empty() ? std::nullopt : std::optional(report.table_path);
}

}  // namespace

namespace fields {

template <>
inline constexpr auto kFields<Explanation> =
    std::tuple{required("stage", stage_of),
               required("stages", &Explanation::stages),
               or_null("variant", variant_of),
               required("source", &Explanation::source),
               required("why", &Explanation::why),
               required("axis", &Explanation::axis),
               required("axis_value", &Explanation::axis_value),
               required("fit", &Explanation::fit),
               required("device_fit", &Explanation::device_fit),
               required("stale", &Explanation::stale),
               optional("basis", &Explanation::basis),
               required("slow_path", &Explanation::slow_path),
               optional("fallback_reason", &Explanation::fallback_reason),
               optional("evidence", &Explanation::evidence),
               optional("overridden", &Explanation::overridden),
               optional("override_cost", &Explanation::override_cost)};

template <>
inline constexpr auto kFields<AttentionOptions> =
    std::tuple{required("rope_scale", &AttentionOptions::rope_scale),
               required("uniform_gate", &AttentionOptions::uniform_gate),
               required("force_branch", forced_index)};

template <>
inline constexpr auto kFields<ValidatorCheck> = std::tuple{
    required("name", name_of), required("recorded", &ValidatorCheck::recorded),
    required("here", &ValidatorCheck::here), required("verdict", &ValidatorCheck::holds)};

template <>
inline constexpr auto kFields<NameEffect> = std::tuple{
    required("name", &NameEffect::name), required("value", &NameEffect::value),
    required("effective", &NameEffect::effective), required("reason", &NameEffect::reason)};

template <>
inline constexpr auto kFields<ExplainReport> =
    std::tuple{required("device", &ExplainReport::device),
               required("device_fit", &ExplainReport::device_fit),
               required("problem", &ExplainReport::problem),
               or_null("table_path", path_of),
               required("decisions", &ExplainReport::decisions),
               required("reserves", &ExplainReport::reserves),
               required("constants", &ExplainReport::options),
               required("validators", &ExplainReport::validators),
               required("names", &ExplainReport::names),
               required("warnings", &ExplainReport::warnings)};

}  // namespace fields

Json explain_to_json(const ExplainReport& report) { return fields::object_of(report); }

std::string to_json_text(const ExplainReport& report) { return explain_to_json(report).dump(); }

}  // namespace nsa
