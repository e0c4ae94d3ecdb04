#include "foreign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "files/read_document.hpp"
#include "nsa/kernels/documents.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::cli {
namespace {

const ClassDecisions* find_class(const ThresholdTable& table, const Problem& problem) {
  const auto found =
      std::find_if(table.classes.begin(), table.classes.end(),
                   [&](const ClassDecisions& c) { return c.problem_class == class_of(problem); });
  return found == table.classes.end() ? nullptr : &*found;
}

std::string range_words(const ThresholdRange* range, const Decision& decision, std::int64_t at,
                        const std::string& path) {
  const std::string_view axis = to_string(decision.axis);
  if (!range) return fmt::format("no range of {} holds this {}", path, axis);
  std::string text = fmt::format("{} [{}, {}) of {}", axis, range->from,
                                 range->to ? std::to_string(*range->to) : "...", path);
  if (decision.alignment && at % decision.alignment->multiple == 0)
    text += fmt::format(" for multiples of {}", decision.alignment->multiple);
  return text;
}

/// What speaks against the range, or "".
std::string doubt_words(const ThresholdRange& range) {
  if (range.basis == Basis::measured) return "";
  const std::string& why = range.evidence.why;
  return fmt::format(", {}{}", to_string(range.basis), why.empty() ? "" : ": " + why);
}

/// What cannot be resolved here, and what is not decided at all.
std::vector<std::string> warnings_of(const LoadedTable& loaded, const ClassDecisions* decisions,
                                     const Problem& problem) {
  const ThresholdTable& table = loaded.table;
  std::vector<std::string> warnings{fmt::format(
      "{}: its variants are those of executor \"{}\": this program cannot run them, nor tell "
      "whether their code is still that which was measured",
      loaded.path, table.executor)};
  if (decisions) return warnings;
  std::string classes;
  for (const ClassDecisions& c : table.classes)
    classes += (classes.empty() ? "" : "; ") + to_string(c.problem_class);
  warnings.push_back(fmt::format("{}: decides nothing for {}; it has {}", loaded.path,
                                 to_string(class_of(problem)), classes.empty() ? "none" : classes));
  return warnings;
}

Explanation explanation_of(const Decision& decision, const LoadedTable& loaded,
                           const Problem& problem) {
  Explanation line;
  line.stages.clear();
  line.axis = decision.axis;
  line.axis_value = axis_value(problem, decision.axis);
  const ThresholdRange* range = tuner::range_at(decision, line.axis_value);
  if (range) {
    line.variant = to_string(range->variant);
    line.evidence = range->evidence;
    line.basis = range->basis;
  }
  line.source = Source::thresholds;
  line.why = range_words(range, decision, line.axis_value, loaded.path);
  line.fit = Fit::exact;
  line.device_fit = DeviceFit::exact;
  return line;
}

/// The device is that of the file: explained is what was decided there.
Json document_of(const LoadedTable& loaded, const ClassDecisions* decisions, const Problem& problem,
                 const std::vector<std::string>& warnings) {
  ExplainReport report;
  report.device = loaded.table.device;
  report.device_fit = DeviceFit::exact;
  report.problem = problem;
  report.table_path = loaded.path;
  report.validators = check_validators(loaded.table.validators, {});
  report.warnings = warnings;
  if (decisions) {
    report.reserves = decisions->reserves;
    for (const Decision& decision : decisions->decisions)
      report.decisions.push_back(explanation_of(decision, loaded, problem));
  }
  Json document = Json::object();
  document["executor"] = loaded.table.executor;
  document.update(explain_to_json(report));
  // Stages of a foreign worker may be unknown here: they have their own names.
  for (std::size_t i = 0; i < report.decisions.size(); ++i) {
    Json& line = document["decisions"][i];
    line["stages"] = decisions->decisions[i].stages;
    line["stage"] = fmt::format("{}", fmt::join(decisions->decisions[i].stages, "+"));
  }
  return document;
}

std::string text_of(const LoadedTable& loaded, const ClassDecisions& decisions,
                    const Problem& problem, reports::Style style) {
  reports::TextTable here;
  for (const char* column : {"stage", "at", "runs", "because"}) here.add_column(column);
  for (const Decision& decision : decisions.decisions) {
    const std::int64_t at = axis_value(problem, decision.axis);
    const ThresholdRange* range = tuner::range_at(decision, at);
    here.add_row(
        {fmt::format("{}", fmt::join(decision.stages, "+")),
         fmt::format("{} {}", to_string(decision.axis), at),
         {range ? to_string(range->variant) : "not decided", reports::Ink::good},
         range_words(range, decision, at, loaded.path) + (range ? doubt_words(*range) : "")});
  }
  ThresholdTable of_class = loaded.table;
  of_class.classes = {decisions};
  return here.render(style) + "\n" + reports::thresholds_table(of_class, style);
}

}  // namespace

std::optional<LoadedTable> foreign_table(const std::optional<std::string>& file,
                                         const Device& device) {
  std::error_code error;
  std::optional<LoadedTable> loaded;
  if (file && std::filesystem::is_directory(*file, error)) {
    loaded = find_thresholds(file, device);
  } else if (file) {  // whatever device it was decided on
    loaded = LoadedTable{read_thresholds(*file), *file};
  }
  if (loaded && loaded->table.executor == kOwnExecutor) loaded.reset();
  return loaded;
}

ExitCode explain_foreign(const Settings& settings, const LoadedTable& loaded,
                         const Problem& problem) {
  const ClassDecisions* decisions = find_class(loaded.table, problem);
  const std::vector<std::string> warnings = warnings_of(loaded, decisions, problem);
  for (const std::string& warning : warnings)
    say(settings, "warning: " + reports::printable(warning));
  if (settings.json) {
    print_json(document_of(loaded, decisions, problem, warnings));
  } else if (decisions) {
    print_fitted(text_of(loaded, *decisions, problem, settings.style_out()));
  }
  return decisions ? ExitCode::good : ExitCode::nothing_judged;
}

}  // namespace nsa::cli
