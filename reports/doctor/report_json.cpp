#include "nsa/doctor/report_json.hpp"

namespace nsa::doctor {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const Fact& fact) {
  return {{"what", fact.what},
          {"source", fact.source},
          {"line", fact.line > 0 ? Json(fact.line) : Json(nullptr)},
          {"variable", fact.variable.empty() ? Json(nullptr) : Json(fact.variable)},
          {"value", fact.value.empty() ? Json(nullptr) : Json(fact.value)},
          {"count", or_null(fact.count)},
          {"ns", or_null(fact.ns)},
          {"event_ids", fact.event_ids}};
}

Json json_of(const Rule& rule) {
  return {{"id", rule.id},
          {"evidence_kind", to_string(rule.kind)},
          {"severity", to_string(rule.severity)},
          {"title", rule.title},
          {"source", rule.source},
          {"advice", rule.advice.all()}};
}

Json json_of(const Finding& finding) {
  Json facts = Json::array();
  for (const Fact& fact : finding.found.facts) facts.push_back(json_of(fact));
  const Gain& gain = finding.found.gain;
  return {{"rule", finding.rule->id},
          {"severity", to_string(finding.severity())},
          {"title", finding.rule->title},
          {"source", finding.rule->source},
          {"message", finding.found.message},
          {"evidence", std::move(facts)},
          {"gain",
           {{"at_most_ns", or_null(gain.at_most_ns)},
            {"of_ns", or_null(gain.of_ns)},
            {"at_most_ratio", or_null(gain.at_most_ratio)},
            {"at_least", gain.at_least},
            {"basis", gain.basis}}},
          {"advice", finding.advice}};
}

}  // namespace

Json to_document(const Report& report) {
  Json judged = Json::array(), findings = Json::array(), not_judged = Json::array();
  for (const Kind kind : report.judged) judged.push_back(to_string(kind));
  for (const Finding& finding : report.findings) findings.push_back(json_of(finding));
  for (const NotJudged& n : report.not_judged)
    not_judged.push_back({{"source", n.source}, {"reason", n.reason}, {"whole", n.whole}});
  return {{"schema_version", 1},
          {"sources", report.sources},
          {"judged", std::move(judged)},
          {"rules_judged", report.rules_judged},
          {"findings", std::move(findings)},
          {"not_judged", std::move(not_judged)}};
}

Json rules_document() {
  Json list = Json::array();
  for (const Rule& rule : rules()) list.push_back(json_of(rule));
  return {{"schema_version", 1}, {"rules", std::move(list)}};
}

}  // namespace nsa::doctor
