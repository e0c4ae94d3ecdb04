#include <algorithm>
#include <array>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {
namespace {

std::vector<std::string> sources_of(const Evidence& evidence) {
  std::vector<std::string> names;
  for (const auto& e : evidence.environments) names.push_back(e.source);
  for (const auto& e : evidence.configs) names.push_back(e.file);
  for (const auto& e : evidence.logs) names.push_back(e.file);
  for (const auto& e : evidence.heartbeats) names.push_back(e.file);
  for (const auto& e : evidence.traces) names.push_back(e.summary.path);
  for (const auto& e : evidence.commands) names.push_back(e.source);
  std::vector<std::string> once;
  for (std::string& name : names)
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  return once;
}

/// What is there and says nothing.
void add_silent(const Evidence& evidence, std::vector<NotJudged>& out) {
  for (const TraceEvidence& t : evidence.traces) {
    const auto reason = t.summary.null_reasons.find("span_ns");
    if (!t.summary.gpu)
      out.push_back({t.summary.path, reason == t.summary.null_reasons.end()
                                         ? "no GPU operation was recorded"
                                         : reason->second});
  }
  for (const CommandEvidence& c : evidence.commands) {
    if (!c.gpu_reason.empty()) out.push_back({c.source, "the GPU: " + c.gpu_reason});
    if (c.exit_code.value_or(0) != 0)
      out.push_back({c.source, "how it ended: exit code " + std::to_string(*c.exit_code)});
    if (c.samples.size() < 10)
      out.push_back({c.source, "its load: it ran too short for ten readings"});
  }
}

}  // namespace

std::string_view to_string(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"critical", "warning", "note"};
  return kNames[static_cast<std::size_t>(severity)];
}

Report examine(const Evidence& evidence) {
  Report report;
  report.sources = sources_of(evidence);
  report.not_judged = evidence.not_judged;
  add_silent(evidence, report.not_judged);
  for (const Rule& rule : rules()) {
    if (!evidence.has(rule.kind)) continue;
    if (report.judged.empty() || report.judged.back() != rule.kind)
      report.judged.push_back(rule.kind);
    ++report.rules_judged;
    for (Found& found : rule.judge(evidence)) report.findings.push_back({&rule, std::move(found)});
  }
  std::stable_sort(
      report.findings.begin(), report.findings.end(),
      [](const Finding& a, const Finding& b) { return a.rule->severity < b.rule->severity; });
  return report;
}

}  // namespace nsa::doctor
