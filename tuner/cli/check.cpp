// check: what became slower since when, and an exit code that CI can trust.
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "acks_file.hpp"
#include "baseline.hpp"
#include "night_time.hpp"
#include "nightly_source.hpp"
#include "nsa/check_output/document.hpp"
#include "nsa/check_output/formats.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {
namespace {

struct CheckOptions {
  NightlySource source;
  std::optional<std::string> baseline, acks, today, format, out, fail_on;
  std::int64_t window = 14;
};

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
                                    return fnmatch(ack.series.c_str(), series.name.c_str(), 0) == 0;
                                  });
    if (!used)
      say(settings, "note: the ack of '" + reports::printable(ack.series) + "' names no series");
  }
}

nightly::Options options_of(const CheckOptions& o, const NightlyHistory& history) {
  nightly::Options options = judge_options(o.source);
  options.window = o.baseline ? nights_after(history, *o.baseline) : o.window;
  options.fail_on_missing = o.fail_on.has_value();
  if (o.acks) options.acks = load_acks(*o.acks);
  if (o.today && !is_date(*o.today))
    throw InputError("--today: '" + *o.today + "' is no date; 2026-12-31 is one");
  options.today = o.today.value_or(last_day(history));
  return options;
}

/// Before anything is read: what cannot be written later.
void check_output_flags(const Settings& settings, const CheckOptions& o) {
  if (settings.json && o.format && !o.out)
    throw InputError("--json and --format: both write to stdout; name a file with -o");
  if (!o.out) return;
  std::error_code ignored;
  for (const auto& input : {o.source.csv, o.acks}) {
    if (input && std::filesystem::equivalent(*input, *o.out, ignored))
      throw InputError("-o " + *o.out + ": is an input; name another file");
  }
}

/// The file of -o in its format, and on stdout the JSON, the format or the text.
void write_outputs(const Settings& settings, const CheckOptions& o, const Json& document) {
  const std::string format = o.format.value_or(settings.json ? "json" : "text");
  const reports::Style style{.color = settings.color_out()};
  if (!o.out) {
    print_text(check_output::render(document, format, style));
    return;
  }
  write_text_file(*o.out, check_output::render(document, format));
  say(settings, "wrote " + *o.out);
  print_text(check_output::render(document, settings.json ? "json" : "text", style));
}

ExitCode run(const Settings& settings, const CheckOptions& o) {
  check_output_flags(settings, o);
  const NightlyHistory history = read_history(settings, o.source);
  const nightly::Options options = options_of(o, history);
  say_unused(settings, options.acks, history);
  const nightly::Report report = nightly::judge(history.series, options);
  write_outputs(settings, o, check_output::check_document(report, history.series, options));
  return static_cast<ExitCode>(report.exit_code);
}

}  // namespace

void add_check(Program& program) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* sub = program.add(
      "check", "What became slower since when: exit 1 for a confirmed regression",
      "  nsatune sweep quick --db nightly.sqlite && nsatune check --db nightly.sqlite\n"
      "  nsatune check --csv history.csv --direction higher --json\n"
      "  nsatune check --db nightly.sqlite --acks acks.yaml --format junit -o junit.xml\n"
      "  nsatune check --db nightly.sqlite --format markdown -o \"$GITHUB_STEP_SUMMARY\"\n\n"
      "Exit codes: 0 no regression; 1 a confirmed regression that began in the window; 2 bad "
      "input;\n"
      "3 nothing could be judged yet; 4 a series has no result (--fail-on missing)",
      [&program, o] { return run(program.settings, *o); });
  declare_source(*sub, o->source);
  sub->add_option("--window", o->window,
                  "Nights in which a change has to have begun for exit 1 (default 14)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  sub->add_option("--baseline", o->baseline,
                  "Run, commit or day that was good: changes of all nights after it count")
      ->excludes("--window");
  sub->add_option("--acks", o->acks, "Known changes (nsatune ack add)");
  sub->add_option("--today", o->today, "Date against which acks end (default: the last night's)");
  sub->add_option("--fail-on", o->fail_on, "missing: exit 4 where a series has no result")
      ->check(CLI::IsMember({"missing"}));
  sub->add_option("--format", o->format, "text (default), json, markdown, comment, junit, csv")
      ->check(CLI::IsMember(check_output::format_names()));
  sub->add_option("-o,--output", o->out, "File for the format; stdout then shows the text");
}

}  // namespace nsa::cli
