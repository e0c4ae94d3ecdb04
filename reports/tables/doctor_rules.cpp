// The table of rules, for a terminal and as docs/doctor.md.
#include <fmt/format.h>

#include "nsa/reports/doctor_text.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

using doctor::Kind;
using doctor::Rule;

std::string cell(std::string_view text) { return std::string(text); }

TextTable table_of(std::optional<Kind> only) {
  TextTable table;
  table.add_column("rule");
  if (!only) table.add_column("evidence");
  for (const char* column : {"severity", "what it finds", "source", "what to do"})
    table.add_column(column);
  for (const Rule& rule : doctor::rules()) {
    if (only && rule.kind != *only) continue;
    std::vector<Cell> row{only ? "`" + cell(rule.id) + "`" : cell(rule.id)};
    if (!only) row.push_back(cell(to_string(rule.kind)));
    for (const std::string_view text : {to_string(rule.severity), rule.title, rule.source})
      row.push_back(cell(text));
    row.emplace_back(rule.advice.all());
    table.add_row(std::move(row));
  }
  return table;
}

constexpr const char* kHead =
    "# What `nsatune doctor` looks for\n\n"
    "Made by `nsatune doctor --list --markdown`; a test compares. Sources are the users' "
    "reports (docs/sources.md), cited by number and line. Where they contradict each\nother (FA-2, "
    "range converters), "
    "a measurement in the results database decides, and without one the finding says so.\n\n"
    "A finding carries its evidence (variable, file and line, correlation ids and times of "
    "events), "
    "an upper bound of what can be gained, and what to do. For traces the\nbound is what the "
    "critical "
    "path would be shorter by, the idle time, the exposed communication or the time of the kernels "
    "themselves, and less than one percent is not reported; findings of one trace share that time, "
    "so "
    "bounds do not add up.\nOf several GPUs the bound is the loss of the GPU that loses most, "
    "which is named; where work is known only as the sum over all GPUs, so is the "
    "bound.\nCommunication that the critical path would be no shorter without is a note while "
    "the "
    "host limits the trace.\nA variable that is not set counts only where it is known that an NSA "
    "program starts from that environment: a file of variables, a config with an `nsa`\nsection, "
    "or "
    "another `NSA_*` variable. With recorded files alone (logs, heartbeats, traces) this shell's "
    "environment is not judged.\n"
    "What to do leaves out a variable that is set already, and says that it is; one of NSA's is "
    "asked for where something given is of an NSA program.\nFindings of one severity come with "
    "the largest share of the time first.\n\n"
    "Exit code: 0 nothing found, 1 findings, 2 bad input, 3 no findings, but something that was\n"
    "given could not be judged at all (a trace without GPU operations, a config without a key "
    "that a\n"
    "rule reads, a command that failed before its load was read), 4 the machine cannot do it "
    "now.\n";

}  // namespace

std::string doctor_rules_table(Style style) { return table_of({}).render(style); }

std::string doctor_markdown() {
  std::string text = kHead;
  for (const auto& [kind, title] :
       {std::pair{Kind::environment, "Variables"}, std::pair{Kind::config, "Configs (YAML)"},
        std::pair{Kind::log, "Training logs"}, std::pair{Kind::heartbeat, "Heartbeat JSONL"},
        std::pair{Kind::trace, "Traces"}, std::pair{Kind::command, "A running command"}})
    text += fmt::format("\n## {}\n\n{}", title, table_of(kind).markdown());
  return text;
}

}  // namespace nsa::reports
