// selftest: whether the gate is shut: a step planted in a copy of the user's data must be found.
#include <fmt/format.h>

#include <memory>

#include "history/source.hpp"
#include "nsa/check_output/document.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"
#include "planted_step.hpp"

namespace nsa::cli {
namespace {

/// What came of it.
struct Outcome {
  ExitCode code = ExitCode::nothing_judged;
  std::string series;     // into which the step was planted
  double ratio = 1;       // of the step; 1 on a linear scale
  double added = 0;       // by the step on a linear scale
  bool found = false;     // with the step: exit 1, for this series, from that night on
  bool restored = false;  // without it: what the data itself gives
  int exit_code_of_data = 0;
  std::string reason;  // one line
};

/// A verdict on a history as bytes, so that two can be compared whole.
std::string verdict_bytes(const NightlyHistory& history, const nightly::Report& report,
                          const nightly::Options& options) {
  return check_output::check_document(report, history.series, options).dump();
}

/// `report`: on the history as it is.
void try_step(Outcome& outcome, NightlyHistory history, const nightly::Report& report,
              const nightly::Options& options, const PlantedStep& step) {
  const std::string before = verdict_bytes(history, report, options);
  plant(history.series, step);
  const nightly::Report planted = nightly::judge(history.series, options);
  const nightly::Verdict& verdict = planted.series[step.series];
  outcome.found = planted.exit_code == static_cast<int>(ExitCode::found) && verdict.regression &&
                  steps_at(verdict, history.series[step.series], step);
  take_out(history.series, step);
  const nightly::Report restored = nightly::judge(history.series, options);
  outcome.restored = verdict_bytes(history, restored, options) == before;
  outcome.code = outcome.found && outcome.restored ? ExitCode::good : ExitCode::found;
  if (!outcome.found) {
    outcome.reason = fmt::format("with the step check exits {} and says {} of the series",
                                 planted.exit_code, check_output::state_name(verdict.state));
  } else if (!outcome.restored) {
    outcome.reason = "without the step, check judges otherwise than on the unchanged data";
  } else {
    outcome.reason =
        fmt::format("with the step check exits 1, without it {}", outcome.exit_code_of_data);
  }
}

std::string why_no_step(const NightlyHistory& history, const nightly::Options& options) {
  const std::size_t nights = nights_for_step(options);
  if (any_long_enough(history.series, options))
    return fmt::format(
        "each series with {} nights in one environment has no value in the last night, changed "
        "where the step would begin, or varies more than a step could stand out from",
        nights);
  return fmt::format("no series has {} nights in one environment; there {} {}", nights,
                     history.nights == 1 ? "is" : "are",
                     counted(static_cast<std::int64_t>(history.nights), "night"));
}

Outcome outcome_of(const NightlyHistory& history, const nightly::Options& options) {
  const nightly::Report report = nightly::judge(history.series, options);
  Outcome outcome;
  outcome.exit_code_of_data = report.exit_code;
  const std::optional<PlantedStep> step = step_for(history.series, report, options);
  if (!step) {
    outcome.reason = why_no_step(history, options);
    return outcome;
  }
  outcome.series = history.series[step->series].name;
  outcome.ratio = step->factor;
  outcome.added = step->added;
  try_step(outcome, history, report, options, *step);
  return outcome;
}

Json json_of(const Outcome& outcome) {
  return {{"exit_code", static_cast<int>(outcome.code)},
          {"series", outcome.series},
          {"ratio", outcome.ratio},
          {"found", outcome.found},
          {"restored", outcome.restored},
          {"exit_code_of_data", outcome.exit_code_of_data},
          {"reason", outcome.reason}};
}

std::string step_text(const Outcome& outcome) {
  if (outcome.added != 0) return check_output::size_text({{"delta", outcome.added}});
  return check_output::size_text({{"ratio", outcome.ratio}});
}

ExitCode run(const Settings& settings, const NightlySource& source) {
  const Outcome outcome = outcome_of(read_history(settings, source), judge_options(source));
  if (settings.json) {
    print_json(json_of(outcome));
    return outcome.code;
  }
  std::string text;
  if (!outcome.series.empty())
    text = fmt::format("planted a step of {} in {}\n", step_text(outcome),
                       reports::printable(outcome.series));
  const char* verdict = outcome.code == ExitCode::good    ? "the gate works"
                        : outcome.code == ExitCode::found ? "the gate does NOT work"
                                                          : "cannot be tested";
  print_fitted(fmt::format("{}{}: {}\n", text, verdict, reports::printable(outcome.reason)));
  return outcome.code;
}

}  // namespace

void add_selftest(Program& program) {
  auto source = std::make_shared<NightlySource>();
  CLI::App* sub = program.add(
      "selftest", "Plants a step in a copy of your data in memory, which check must find",
      "  nsatune selftest --db nightly.sqlite\n"
      "  nsatune selftest --csv history.csv --direction higher --json\n\n"
      "Exit codes: 0 the step is found, and without it check says what it says of the data;\n"
      "1 one of them is not so; 2 bad input; 3 no series is long enough",
      [&program, source] { return run(program.settings, *source); });
  declare_source(*sub, *source);
}

}  // namespace nsa::cli
