#include <algorithm>
#include <array>

#include "advice.hpp"
#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {
namespace {

std::vector<std::string> sources_of(const RunEvidence& evidence) {
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

NotJudged silent_trace(const trace::Summary& summary) {
  if (summary.events == 0) return {summary.path, "it holds no event", true};
  return {summary.path, summary.null_reasons.at("span_ns"), true};
}

void add_silent(const CommandEvidence& c, std::vector<NotJudged>& out) {
  const bool short_run = c.samples.size() < kFewestReadings;
  const std::string code = c.exit_code ? std::to_string(*c.exit_code) : "";
  const bool failed = c.exit_code.value_or(0) != 0;
  if (failed && short_run) {
    out.push_back(
        {c.source, "it failed with exit code " + code + " before its load was read", true});
    return;
  }
  if (!c.gpu_reason.empty()) out.push_back({c.source, "the GPU: " + c.gpu_reason});
  if (failed) out.push_back({c.source, "how it ended: exit code " + code});
  if (short_run) out.push_back({c.source, "its load: it ended before ten readings"});
}

/// What is there and says nothing.
void add_silent(const RunEvidence& evidence, std::vector<NotJudged>& out) {
  for (const ConfigEvidence& c : evidence.configs) {
    if (!c.any_known())
      out.push_back({c.file,
                     "no rule reads any of its keys; known are runtime.precision, train.seq_len, "
                     "train.batch_size and the like",
                     true});
  }
  for (const LogEvidence& log : evidence.logs) {
    if (!log.live && !log.any_known())
      out.push_back(
          {log.file,
           "no rule knows anything in it: it has neither a throughput nor a message that a "
           "rule reads",
           true});
  }
  for (const TraceEvidence& t : evidence.traces) {
    if (!t.summary.gpu) out.push_back(silent_trace(t.summary));
    if (!t.left_out.empty()) out.push_back({t.summary.path, t.left_out});
  }
  for (const CommandEvidence& c : evidence.commands) add_silent(c, out);
}

/// The variable of a fact whose value only a shell knows; null where there is none.
const Fact* unknown_value(const RunEvidence& evidence, const Found& found) {
  for (const Fact& fact : found.facts)
    for (const EnvironmentEvidence& env : evidence.environments) {
      const Setting* setting = env.source == fact.source ? env.find(fact.variable) : nullptr;
      if (setting && !setting->known) return &fact;
    }
  return nullptr;
}

/// Each variable once, whatever number of rules ask for it.
void add_unknown(const Fact& fact, std::vector<NotJudged>& out) {
  NotJudged row{fact.source, fact.what + ": only the shell that runs it knows the value"};
  const bool there = std::any_of(out.begin(), out.end(), [&](const NotJudged& n) {
    return n.source == row.source && n.reason == row.reason;
  });
  if (!there) out.push_back(std::move(row));
}

/// Of the time, at most; -1 where it is not known.
double share_gained(const Gain& gain) {
  if (gain.at_most_ns && gain.of_ns.value_or(0) > 0)
    return static_cast<double>(*gain.at_most_ns) / static_cast<double>(*gain.of_ns);
  return gain.at_most_ratio.value_or(0) > 0 ? 1 - 1 / *gain.at_most_ratio : -1;
}

}  // namespace

std::string_view to_string(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"critical", "warning", "note"};
  return kNames[static_cast<std::size_t>(severity)];
}

bool Report::any_silent() const {
  return std::any_of(not_judged.begin(), not_judged.end(),
                     [](const NotJudged& n) { return n.whole; });
}

Report examine(const RunEvidence& evidence) {
  Report report;
  report.sources = sources_of(evidence);
  report.not_judged = evidence.not_judged;
  add_silent(evidence, report.not_judged);
  for (const Rule& rule : rules()) {
    if (!evidence.has(rule.kind)) continue;
    if (report.judged.empty() || report.judged.back() != rule.kind)
      report.judged.push_back(rule.kind);
    ++report.rules_judged;
    for (Found& found : rule.judge(evidence)) {
      if (const Fact* fact = unknown_value(evidence, found))
        add_unknown(*fact, report.not_judged);
      else
        report.findings.push_back({&rule, std::move(found), {}});
    }
  }
  for (Finding& finding : report.findings) finding.advice = advice_of(evidence, finding);
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     if (a.severity() != b.severity()) return a.severity() < b.severity();
                     return share_gained(a.found.gain) > share_gained(b.found.gain);
                   });
  return report;
}

}  // namespace nsa::doctor
