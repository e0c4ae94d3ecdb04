#include "input.hpp"

#include <algorithm>
#include <filesystem>

#include "acks_file.hpp"
#include "history/baseline.hpp"
#include "history/time.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {
namespace {

/// The day of the last night, so that a history gives the same verdict on any day; today where its
/// nights have numbers for times.
std::string last_day(const NightlyHistory& history) {
  std::optional<std::string> last;
  for (const nightly::Series& series : history.series) {
    if (series.nights.empty()) continue;
    const auto time = parse_night_time(series.nights.back().time);
    if (const auto day = time ? utc_day(*time) : std::nullopt) last = std::max(last, day);
  }
  return last.value_or(now_iso8601().substr(0, 10));
}

/// An ack with a misspelt name would never be missed.
void say_unused(const Settings& settings, const std::vector<nightly::Ack>& acks,
                const NightlyHistory& history) {
  for (const nightly::Ack& ack : acks) {
    const bool used = std::any_of(history.series.begin(), history.series.end(),
                                  [&](const nightly::Series& series) {
                                    return nightly::matches_glob(ack.series, series.name);
                                  });
    if (!used)
      say(settings, "note: the ack of '" + reports::printable(ack.series) + "' names no series");
  }
}

}  // namespace

void refuse_input_as_output(const std::string& out,
                            const std::vector<std::optional<std::string>>& inputs) {
  std::error_code ignored;
  for (const auto& input : inputs) {
    if (input && std::filesystem::equivalent(*input, out, ignored))
      throw InputError("-o " + out + ": is an input; name another file");
  }
}

nightly::Options check_options(const Settings& settings, const CheckInput& o,
                               const NightlyHistory& history) {
  nightly::Options options = judge_options(o.source);
  options.window = o.baseline ? nights_after(history, *o.baseline) : o.window;
  if (o.acks) options.acks = load_acks(*o.acks);
  if (o.today && !is_date(*o.today))
    throw InputError("--today: '" + *o.today + "' is not a date; 2026-12-31 is one");
  options.today = o.today.value_or(last_day(history));
  say_unused(settings, options.acks, history);
  return options;
}

void declare_check_input(CLI::App& sub, CheckInput& o) {
  declare_source(sub, o.source);
  sub.add_option("--window", o.window,
                 "Exit 1 only for a change that began within this many nights (default 14)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  sub.add_option("--baseline", o.baseline,
                 "Label, run, commit or day known to be good: every later change counts")
      ->excludes("--window");
  sub.add_option("--acks", o.acks, "Known changes (nsatune ack add)");
  sub.add_option("--today", o.today,
                 "Date that decides which acks have expired (default: the last night's)");
}

}  // namespace nsa::cli
