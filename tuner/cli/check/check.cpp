// check: what became slower since when, and an exit code that CI can trust.
#include <functional>
#include <memory>

#include "cells/measured_rates.hpp"
#include "confirm.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "nsa/check_output/document.hpp"
#include "nsa/check_output/formats.hpp"
#include "nsa/page/page.hpp"
#include "nsa/schemas/output_path.hpp"
#include "page/history_page.hpp"
#include "report/targets_file.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kPage = "html";  // the other formats are made from the document alone

struct CheckOptions {
  CheckInput input;
  std::optional<std::string> format, out, fail_on, targets;
  ConfirmOptions confirm;
};

/// Before anything is read: what cannot be written later.
void check_output_flags(const Settings& settings, const CheckOptions& o) {
  if (settings.json && o.format && !o.out)
    throw InputError("--json and --format: both write to stdout; name a file with -o");
  if (o.out) refuse_input_as_output(*o.out, {o.input.source.csv, o.input.acks});
}

using MakePage = std::function<std::string()>;

/// The file of -o in its format, and on stdout the JSON, the format or the text.
void write_outputs(const Settings& settings, const CheckOptions& o, std::optional<WholeFile>& file,
                   const Json& document, const MakePage& make_page) {
  const std::string format = o.format.value_or(settings.json ? "json" : "text");
  const reports::Style style = settings.style_out();
  const auto render = [&](const reports::Style& with) {
    return format == kPage ? make_page() : check_output::render(document, format, with);
  };
  if (!file) {
    print_text(render(style));
    return;
  }
  file->write_whole(render({}));
  say(settings, "wrote " + *o.out);
  print_text(check_output::render(document, settings.json ? "json" : "text", style));
}

/// Expected rates instead of the history.
ExitCode check_targets(const Settings& settings, const std::string& file) {
  const auto judged = run_tables::judge_targets(load_targets(file), measured_rates(settings));
  print_targets(settings, judged, file);
  return static_cast<ExitCode>(run_tables::exit_code_of(judged));
}

ExitCode run(const Settings& settings, const CheckOptions& o) {
  if (o.targets) return check_targets(settings, *o.targets);
  check_output_flags(settings, o);
  check_confirm_flags(o.confirm, o.input.source.csv.has_value());
  std::optional<WholeFile> file;  // before anything is measured again: it may be one that cannot be
  if (o.out) file.emplace(*o.out);
  const NightlyHistory history = read_history(settings, o.input.source);
  nightly::Options options = check_options(settings, o.input, history);
  options.fail_on_missing = o.fail_on.has_value();
  nightly::Report report = nightly::judge(history.series, options);
  if (o.confirm.on) {
    options.confirmations = confirm(settings, o.confirm, report);
    if (stop_on_signals()) return kStopped;
    report = nightly::judge(history.series, options);
  }
  const Json document = check_output::check_document(report, history.series, options);
  write_outputs(settings, o, file, document, [&] {
    return page::page_html(page_data(settings, o.input, history, report, document),
                           page::vega_script(page::kVegaFolder));
  });
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
      "  nsatune check --db nightly.sqlite --format markdown -o \"$GITHUB_STEP_SUMMARY\"\n"
      "  nsatune check --db nightly.sqlite --confirm --old last-night/nsatune\n"
      "  nsatune check --targets targets.yaml --db results.sqlite\n\n"
      "Exit codes: 0 no regression; 1 a confirmed regression that began in the window; 2 bad "
      "input;\n"
      "3 nothing could be judged yet; 4 a series has no result (--fail-on missing)",
      [&program, o] {
        if (o->out == kStdout) o->out.reset();
        return run(program.settings, *o);
      });
  declare_check_input(*sub, o->input);
  declare_confirm(*sub, o->confirm);
  sub->add_option("--fail-on", o->fail_on, "missing: exit 4 where a series has no result")
      ->check(CLI::IsMember({"missing"}));
  CLI::Option* targets = sub->add_option(
      "--targets", o->targets,
      "Judge the rates in the database by this file of expected ones, instead of the history: exit "
      "1 where one is missed, 3 where none could be judged");
  auto formats = check_output::format_names();
  formats.emplace_back(kPage);
  sub->add_option("--format", o->format,
                  "text (default), json, markdown, comment, junit, csv, html (the page of report)")
      ->check(CLI::IsMember(formats));
  sub->add_option("-o,--output", o->out,
                  "File for the format (-: stdout); stdout then shows the text");
  for (CLI::Option* option : sub->get_options()) {  // those of the history
    if (option != targets && option != sub->get_help_ptr()) targets->excludes(option);
  }
}

}  // namespace nsa::cli
