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
    "# What `nsatune doctor` looks for\n"
    "\n"
    "Made by `nsatune doctor --list --markdown`; a test compares this page with the "
    "program. *Source* cites the users' reports (docs/sources.md) by number and line. "
    "Where they contradict each\n"
    "other (FA-2, range converters), a measurement in the results database decides; if "
    "there is none, the finding says so. A results database is not judged itself.\n"
    "\n"
    "Each finding gives its evidence (variable, file and line, correlation ids and times "
    "of events), an upper bound of what can be gained, and what to do. For traces the "
    "bound is the time\n"
    "by which the critical path would be shorter, the idle time, the exposed "
    "communication, or the time of the kernels themselves; less than one percent is not "
    "reported. Findings of one trace share that time, so their bounds do not add up.\n"
    "With several GPUs the bound is that of the GPU that loses most, which is named; if "
    "the time of some work is known only as a sum over all GPUs, so is the bound.\n"
    "Communication without which the critical path would be no shorter is only a note if "
    "the host limits the trace.\n"
    "A variable that is not set counts only if an NSA program is known to start from "
    "that environment: a file of variables was given, a config with an `nsa`\n"
    "section, or another `NSA_*` variable is set. With recorded files alone (logs, "
    "heartbeats, traces), the environment of this shell is not judged.\n"
    "A variable that is already set is left out of *what to do*, and the finding says "
    "so; an `NSA_*` variable is recommended only if something that was given belongs to "
    "an NSA program.\n"
    "Findings of one severity are sorted by their share of the time, the largest first.\n"
    "\n"
    "Exit code: 0 nothing found; 1 findings; 2 bad input; 3 no findings, but something "
    "that was given\n"
    "could not be judged at all (a trace without GPU operations, a config without a key "
    "that a rule\n"
    "reads, a results database alone, a command that failed before its load was read); 4 "
    "the machine\n"
    "cannot do it now.\n";

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
