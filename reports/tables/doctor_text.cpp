#include "nsa/reports/doctor_text.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"

namespace nsa::reports {
namespace {

using doctor::Fact;
using doctor::Finding;
using doctor::Gain;
using doctor::Report;
using doctor::Severity;

constexpr std::size_t kMaxIds = 3;

Ink ink_of(Severity severity) {
  return severity == Severity::critical  ? Ink::bad
         : severity == Severity::warning ? Ink::warn
                                         : Ink::dim;
}

std::string place_of(const Fact& fact) {
  const std::string source = printable(fact.source);
  return fact.line > 0 ? fmt::format("{}:{}", source, fact.line) : source;
}

/// `place` false: there is one source, and it is named below.
std::string text_of(const Fact& fact, bool place) {
  std::string figures;
  const auto add = [&](const std::string& figure) {
    figures += (figures.empty() ? "" : ", ") + figure;
  };
  if (fact.count) add(format_tokens(*fact.count) + "x");
  if (fact.ns) add(format_ns(static_cast<double>(*fact.ns)));
  std::string ids;
  for (std::size_t i = 0; i < std::min(kMaxIds, fact.event_ids.size()); ++i)
    ids += fmt::format(" {}", fact.event_ids[i]);
  if (!ids.empty()) add("events" + ids);
  const std::string front = place || fact.line > 0 ? place_of(fact) + ": " : "";
  return front + printable(fact.what) + (figures.empty() ? "" : " (" + figures + ")");
}

std::string text_of(const Gain& gain) {
  if (gain.at_most_ns && gain.of_ns) {
    const double share =
        *gain.of_ns > 0 ? static_cast<double>(*gain.at_most_ns) / static_cast<double>(*gain.of_ns)
                        : 0;
    return fmt::format("at {} {} of {} ({}): {}", gain.at_least ? "least" : "most",
                       format_ns(static_cast<double>(*gain.at_most_ns)),
                       format_ns(static_cast<double>(*gain.of_ns)), format_percent(share),
                       printable(gain.basis));
  }
  if (gain.at_most_ratio)
    return fmt::format("at most {}: {}", format_ratio(*gain.at_most_ratio), printable(gain.basis));
  return "not known: " + printable(gain.basis);
}

std::string text_of(const Finding& finding, bool place, Style style) {
  const doctor::Rule& rule = *finding.rule;
  std::string text = fmt::format(
      "{} {} [{}; report {}]\n  {}\n",
      inked(fmt::format("{:<8}", to_string(finding.severity())), ink_of(finding.severity()), style),
      inked(rule.title, Ink::bold, style), rule.id, rule.source, printable(finding.found.message));
  for (const Fact& fact : finding.found.facts) text += "  seen  " + text_of(fact, place) + "\n";
  text += "  gain  " + text_of(finding.found.gain) + "\n";
  return text + "  do    " + printable(finding.advice) + "\n\n";
}

std::string counts_of(const Report& report) {
  std::string text;
  for (const Severity severity : {Severity::critical, Severity::warning, Severity::note}) {
    std::size_t count = 0;
    for (const Finding& finding : report.findings) count += finding.severity() == severity;
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(severity));
  }
  return text;
}

bool several_of_a_trace(const Report& report) {
  std::size_t bounded = 0;
  for (const Finding& finding : report.findings) bounded += finding.found.gain.at_most_ns ? 1 : 0;
  return bounded > 1;
}

}  // namespace

std::string doctor_text(const Report& report, Style style) {
  const bool several = report.sources.size() > 1;
  std::string text;
  for (const Finding& finding : report.findings) text += text_of(finding, several, style);
  std::string sources;
  for (const std::string& source : report.sources)
    sources += (sources.empty() ? "" : ", ") + printable(source);
  text += !report.findings.empty()
              ? fmt::format("{} finding{} ({})", report.findings.size(),
                            report.findings.size() == 1 ? "" : "s", counts_of(report))
          : report.any_silent() ? inked("nothing found in what could be judged", Ink::warn, style)
                                : inked("nothing found", Ink::good, style);
  text += fmt::format("; {} rules over {}\n", report.rules_judged, sources);
  if (several_of_a_trace(report))
    text += "gains of one trace share the same idle time: they do not add up\n";
  for (const doctor::NotJudged& n : report.not_judged)
    text += fmt::format("not judged: {}: {}\n", printable(n.source), printable(n.reason));
  return text;
}

}  // namespace nsa::reports
