#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::cli {
namespace {

Json trial_json(const tuner::Trial& trial) {
  Json j = {{"kind", to_string(trial.kind)},
            {"problem_class", trial.problem_class},
            {"stages", trial.stages},
            {"axis", to_string(trial.axis)},
            {"at", trial.at},
            {"chosen", trial.chosen},
            {"best", trial.best}};
  if (trial.failure.empty()) {
    j["regret"] = trial.regret;
    j["interval"] = {trial.low, trial.high};
  } else {
    j["failure"] = trial.failure;
  }
  return j;
}

Json outcome_json(const VerifyOutcome& outcome) {
  Json trials = Json::array();
  for (const tuner::Trial& trial : outcome.report.trials) trials.push_back(trial_json(trial));
  return {{"schema_version", 1},
          {"exit_code", static_cast<int>(outcome.code)},
          {"file", outcome.file},
          {"holds", outcome.code == ExitCode::good},
          {"mean_regret", outcome.report.mean},
          {"interval", {outcome.report.low, outcome.report.high}},
          {"p95_regret", outcome.report.p95},
          {"worst_regret", outcome.report.worst},
          {"decided", outcome.report.decided},
          {"failures", outcome.report.failures},
          {"trials", trials},
          {"left_out", outcome.left_out},
          {"undecided", outcome.undecided},
          {"reasons", outcome.broken},
          {"run_id", outcome.run_id},
          {"wall_s", outcome.wall_s}};
}

std::string trials_text(const tuner::TrialReport& report, reports::Style style) {
  constexpr std::size_t kShown = 12;
  std::vector<const tuner::Trial*> worst;
  for (const tuner::Trial& trial : report.trials) worst.push_back(&trial);
  std::ranges::stable_sort(worst, [](const tuner::Trial* a, const tuner::Trial* b) {
    if (a->failure.empty() != b->failure.empty()) return b->failure.empty();
    return a->regret > b->regret;
  });
  if (worst.size() > kShown) worst.resize(kShown);
  reports::TextTable table;
  table.add_column("loss", reports::Align::right);
  table.add_column("95 %", reports::Align::right);
  table.add_column("place");
  table.add_column("length", reports::Align::right);
  table.add_column("class");
  table.add_column("chosen");
  table.add_column("best");
  for (const tuner::Trial* trial : worst) {
    const bool failed = !trial->failure.empty();
    table.add_row(
        {failed ? trial->failure : fmt::format("{:.2f} %", 100 * trial->regret),
         failed ? "" : fmt::format("[{:.2f}, {:.2f}]", 100 * trial->low, 100 * trial->high),
         std::string(to_string(trial->kind)),
         fmt::format("{} {}", to_string(trial->axis), trial->at), to_string(trial->problem_class),
         trial->chosen, trial->best == trial->chosen ? "=" : trial->best});
  }
  return table.render(style, 2);
}

/// What was judged, and what not: places beyond the ranges and undecided ranges say nothing of the
/// file.
std::string summary(const VerifyOutcome& outcome) {
  const tuner::TrialReport& r = outcome.report;
  std::string text =
      r.decided == 0
          ? std::string("no place in its ranges was judged")
          : fmt::format(
                "{} in its ranges: loses {:.2f} % on average [{:.2f}, {:.2f}], {:.2f} % at the "
                "95th percentile, {:.1f} % at worst",
                counted(r.decided, "place"), 100 * r.mean, 100 * r.low, 100 * r.high, 100 * r.p95,
                100 * r.worst);
  if (const auto beyond = std::ssize(r.trials) - r.decided - r.failures; beyond > 0)
    text += fmt::format("; {} beyond them, not judged", counted(beyond, "place"));
  if (r.failures > 0) text += fmt::format("; {} failed", r.failures);
  if (outcome.left_out > 0) text += fmt::format("; {} left out for the budget", outcome.left_out);
  if (outcome.undecided > 0)
    text += fmt::format("; {} not tried",
                        counted(static_cast<std::int64_t>(outcome.undecided), "undecided range"));
  return text + fmt::format("; {:.1f} s\n", outcome.wall_s);
}

const char* verdict_words(const VerifyOutcome& outcome) {
  if (outcome.code == ExitCode::good) return "holds";
  if (outcome.code == ExitCode::found) return "no longer holds: sweep and tune again";
  if (outcome.report.decided > 0)
    return "was not judged: noise hides what it loses; try a quiet machine, or a longer --budget";
  if (outcome.left_out > 0)
    return "was not judged: the budget ended before any place in its ranges was measured; give a "
           "longer --budget";
  if (outcome.undecided > 0 && outcome.report.trials.empty())
    return "was not judged: it decides nothing, all its ranges are undecided";
  return "was not judged: nothing of it could be measured here";
}

}  // namespace

ExitCode tell(const Settings& settings, const VerifyOutcome& outcome) {
  if (settings.json) {
    print_json(outcome_json(outcome));
    return outcome.code;
  }
  std::string text = trials_text(outcome.report, settings.style_out()) + summary(outcome);
  for (const std::string& line : outcome.broken) text += "  " + visible(line) + "\n";
  text += fmt::format("{} {}\n", visible(outcome.file), verdict_words(outcome));
  print_fitted(text);
  return outcome.code;
}

}  // namespace nsa::cli
