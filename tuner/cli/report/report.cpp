// report: the page of the history, in one file.
#include <memory>

#include "nsa/page/page.hpp"
#include "page/history_page.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

struct ReportOptions {
  CheckInput input;
  std::string out = "nsatune.html";
  std::string vega = page::kVegaFolder;
  PageExtras extras;
};

/// Before anything is read: what must not be written over.
void check_out(const Settings& settings, const ReportOptions& o) {
  if (o.out == kStdout && settings.json)
    throw InputError("--json and -o -: both write to stdout; name a file with -o");
  std::vector<std::optional<std::string>> inputs{o.input.source.csv, o.input.acks,
                                                 o.extras.thresholds};
  inputs.insert(inputs.end(), o.extras.traces.begin(), o.extras.traces.end());
  refuse_input_as_output(o.out, inputs);
  if (o.extras.thresholds && o.input.source.csv)
    throw InputError("--thresholds: is for the database, not --csv");
}

ExitCode run(const Settings& settings, const ReportOptions& o) {
  check_out(settings, o);
  const std::string vega = page::vega_script(o.vega);
  const NightlyHistory history = read_history(settings, o.input.source);
  const nightly::Options options = check_options(settings, o.input, history);
  const nightly::Report report = nightly::judge(history.series, options);
  const Json document = check_output::check_document(report, history.series, options);
  const Json data = page_data(settings, o.input, history, report, document, o.extras);
  const std::string html = page::page_html(data, vega);
  if (o.out == kStdout) {
    print_text(html);
    return ExitCode::good;
  }
  write_text_file(o.out, html);
  say(settings, "wrote " + o.out);
  if (settings.json) print_json(document);
  return ExitCode::good;
}

}  // namespace

void add_report(Program& program) {
  auto o = std::make_shared<ReportOptions>();
  CLI::App* sub = program.add(
      "report", "The history, its verdicts and the last run as one HTML page",
      "  nsatune report -o nsatune.html\n"
      "  nsatune report --db nightly.sqlite --acks acks.yaml --thresholds thresholds.json\n"
      "  nsatune report --csv history.csv --direction higher -o rates.html\n"
      "  nsatune report --trace step.json.gz    # and what the time of its steps went to\n"
      "  nsatune report results && nsatune report compare 3f2a 77b0\n"
      "  nsatune report matrix --device cuda:0   # and the other tables above\n\n"
      "The page asks no network for anything. Address of a series: nsatune.html#series=NAME.\n"
      "--json prints the verdicts on the page, as check does.\n"
      "Exit codes: 0 the page was written, whatever it shows; 2 bad input; 4 libjs-vega is missing",
      [&program, o] { return run(program.settings, *o); });
  declare_check_input(*sub, o->input);
  sub->add_option("-o,--output", o->out, "File of the page (default nsatune.html; -: stdout)");
  sub->add_option("--thresholds", o->extras.thresholds,
                  "Thresholds file whose ranges are drawn beside what was measured");
  sub->add_option("--trace", o->extras.traces,
                  "Traces, or folders of them, whose steps are shown in parts (may be repeated)");
  sub->add_option("--vega", o->vega,
                  "Folder of the plotting library's *.min.js (default: that of libjs-vega)");
  add_report_runs(program, *sub);
  add_report_bundle(program, *sub);
  add_report_cells(program, *sub);
  add_report_claims(program, *sub);
  add_report_eta(program, *sub);
  add_report_scaling(program, *sub);
  add_report_memory(program, *sub);
  add_report_selection(program, *sub);
  add_report_targets(program, *sub);
}

}  // namespace nsa::cli
