// power: how small a step the check would find in each series, and what would help.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "history/source.hpp"
#include "nsa/nightly/power.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {
namespace {

struct PowerOptions {
  NightlySource source;
  double target_percent = 3;
};

Json json_of(const nightly::Power& power) {
  Json json{{"name", power.name},
            {"nights", power.nights},
            {"replicates", power.replicates},
            {"night_sd", power.night_sd},
            {"replicate_sd", power.replicate_sd}};
  if (power.smallest) json["smallest"] = *power.smallest;
  if (power.nights_needed) json["nights_needed"] = *power.nights_needed;
  if (power.replicates_needed) json["replicates_needed"] = *power.replicates_needed;
  return json;
}

std::string percent(double share) {
  return share < 100 ? fmt::format("{:.2f} %", share * 100)
                     : fmt::format("{:.3g} times", 1 + share);
}

/// Noise of one level is judged on logarithms. Values that lie farther apart than any slow path is
/// from the fastest one are mistakes of the file, and more than the arithmetic holds.
void refuse_no_noise(const std::vector<nightly::Series>& all) {
  constexpr double kFarthest = 1e6;
  for (const nightly::Series& series : all) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const nightly::Night& night : series.nights)
      for (const double value : night.values) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
    if (least > 0 && most / kFarthest > least)
      throw InputError(fmt::format(
          "{}: its values lie between {:.3g} and {:.3g}; where the largest is more than a million "
          "times the smallest, they are not noise of one level: correct the history, or leave "
          "those nights out",
          series.name, least, most));
  }
}

/// What would bring the step that is found to the target.
std::string help_text(const nightly::Power& power, double target) {
  if (!power.smallest) return "";
  if (*power.smallest <= target) return "found so already";
  std::string text;
  if (power.replicates_needed)
    text = fmt::format("{} replicates a night", *power.replicates_needed);
  if (power.nights_needed)
    text += fmt::format("{}{} nights after it", text.empty() ? "" : ", or ", *power.nights_needed);
  return text.empty() ? "a quieter machine" : text;
}

/// Why no step is named.
const char* why_none(const nightly::Power& power, const nightly::Options& options) {
  if (power.nights < options.warm_up) return "too few nights";
  // Of values without logarithms nothing is computed.
  return power.replicates == 0 ? "not all are positive" : "all nights are equal";
}

std::string table_of(const std::vector<nightly::Power>& powers, const nightly::Options& options,
                     double target, reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  table.add_column("series");
  table.add_column("nights", Align::right);
  table.add_column("replicates", Align::right);
  table.add_column("SD of nights", Align::right);
  table.add_column("found by night 3", Align::right);
  table.add_column("for " + percent(target));
  for (const nightly::Power& power : powers) {
    table.add_row({power.name, std::to_string(power.nights),
                   fmt::format("{:.3g}", power.replicates),
                   power.smallest ? percent(power.night_sd) : "",
                   power.smallest ? percent(*power.smallest) : why_none(power, options),
                   help_text(power, target)});
  }
  return table.render(style);
}

ExitCode run(const Settings& settings, const PowerOptions& o) {
  const NightlyHistory history = read_history(settings, o.source);
  refuse_no_noise(history.series);
  const double target = o.target_percent / 100;
  const nightly::Options options = judge_options(o.source);
  const std::vector<nightly::Power> powers = nightly::power_of(history.series, options, target);
  Json list = Json::array();
  bool any = false;
  for (const nightly::Power& power : powers) {
    list.push_back(json_of(power));
    any = any || power.smallest.has_value();
  }
  if (settings.json) {
    print_json({{"target", target}, {"series", list}});
  } else {
    print_text(table_of(powers, options, target, settings.style_out()));
  }
  return any ? ExitCode::good : ExitCode::nothing_judged;
}

}  // namespace

void add_power(Program& program) {
  auto o = std::make_shared<PowerOptions>();
  CLI::App* sub = program.add(
      "power", "The smallest step that check would find in each series, and what would help",
      "  nsatune power --db nightly.sqlite\n"
      "  nsatune power --csv history.csv --target 2 --json\n\n"
      "A step counts as found where check finds it by its third night in 80 of 100 cases.\n"
      "Exit codes: 0; 2 bad input; 3 no series has enough nights of positive values that "
      "differ",
      [&program, o] { return run(program.settings, *o); });
  declare_source(*sub, o->source);
  sub->add_option("--target", o->target_percent, "Step to be found, in percent (default 3)")
      ->check(number_in(0.01, 1000.0));
}

}  // namespace nsa::cli
