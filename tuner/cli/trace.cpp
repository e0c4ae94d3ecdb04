// The group of commands, and trace summary.
#include <memory>

#include "nsa/reports/trace_table.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"
#include "trace_commands.hpp"

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

void add_trace_summary(Program& program, CLI::App& trace) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* summary = trace.add_subcommand(
      "summary", "Busy and idle time with its causes, steps, stages, kernels, host waits");
  summary->fallthrough();
  summary->footer(
      "Also: --json --quiet --color (see nsatune --help)\n\nExamples:\n"
      "  nsatune trace summary trace.json.gz\n"
      "  nsatune trace summary report.sqlite --json | jq .idle_by_class_ns");
  summary->add_option("file", options->file, kTraceFiles)->required();
  summary->add_option("--top", options->top, "How many kernels the text lists (default 20)")
      ->check(whole_number());
  summary->callback([&program, options] {
    program.command = [&program, options] { return print_summary(program.settings, *options); };
  });
}

void add_trace(Program& program) {
  CLI::App* trace = program.app.add_subcommand("trace", "Traces of CUDA programs");
  trace->require_subcommand(1);
  trace->fallthrough();
  trace->footer(
      "Examples:\n"
      "  nsatune trace record --skip 10 --warmup 10 --steps 50 -- python train.py\n"
      "  nsatune trace summary trace.json.gz\n"
      "  nsatune trace diff before.json.gz after.json.gz\n"
      "  nsatune trace convert report.sqlite trace.json.gz");
  add_trace_record(program, *trace);
  add_trace_summary(program, *trace);
  add_trace_diff(program, *trace);
  add_trace_convert(program, *trace);
}

}  // namespace nsa::cli
