// trace summary.
#include <memory>

#include "nsa/reports/trace_table.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

struct SummaryOptions {
  std::string file;
  std::size_t top = 20;
};

ExitCode print_summary(const Settings& settings, const SummaryOptions& options) {
  const trace::Summary summary = trace::summarize(trace::read_trace(options.file));
  if (settings.json) {
    print_json(trace::to_document(summary));
  } else {
    print_text(reports::trace_summary_table(summary, options.top, {.color = settings.color_out()}));
  }
  return ExitCode::good;
}

}  // namespace

void add_trace(Program& program) {
  CLI::App* trace = program.app.add_subcommand("trace", "Traces of CUDA programs");
  trace->require_subcommand(1);
  trace->fallthrough();
  trace->footer("Examples:\n  nsatune trace summary trace.json.gz");

  auto options = std::make_shared<SummaryOptions>();
  CLI::App* summary = trace->add_subcommand(
      "summary", "Busy and idle time with its causes, steps, stages, kernels, host waits");
  summary->fallthrough();
  summary->footer(
      "Also: --json --quiet --color (see nsatune --help)\n\nExamples:\n"
      "  nsatune trace summary trace.json.gz\n"
      "  nsatune trace summary report.sqlite --json | jq .idle_by_class_ns");
  summary
      ->add_option(
          "file", options->file,
          "Chrome trace JSON (PyTorch profiler or ours; plain or gzip), or an SQLite export "
          "of Nsight Systems")
      ->required();
  summary->add_option("--top", options->top, "How many kernels the text lists (default 20)")
      ->check(whole_number());
  summary->callback([&program, options] {
    program.command = [&program, options] { return print_summary(program.settings, *options); };
  });
}

}  // namespace nsa::cli
