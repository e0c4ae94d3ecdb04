// The group of commands, and trace summary.
#include <malloc.h>

#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/summary_json.hpp"

namespace nsa::cli {
namespace {

struct SummaryOptions {
  std::vector<std::string> files;
  std::size_t top = 20;
};

/// What a list leaves behind as it grows goes back to the system: by default the C library keeps
/// ever larger pieces, a quarter of what a large trace takes.
void return_freed_memory() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

ExitCode print_summary(const Settings& settings, const SummaryOptions& options) {
  return_freed_memory();
  std::vector<trace::Trace> traces = read_traces(trace_files(options.files));
  trace::sort_by_rank(traces);
  std::vector<trace::Summary> ranks;
  for (const trace::Trace& trace : traces) ranks.push_back(trace::summarize(trace));
  const reports::Style style{.color = settings.color_out()};
  if (ranks.size() == 1) {
    const trace::Summary& one = ranks.front();
    settings.json ? print_json(trace::to_document(one))
                  : print_text(reports::trace_summary_table(one, options.top, style));
    return ExitCode::good;
  }
  const trace::Summary merged = trace::summarize(trace::merge_traces(std::move(traces)));
  settings.json ? print_json(trace::to_document(merged, ranks))
                : print_text(reports::trace_ranks_table(merged, ranks, options.top, style));
  return ExitCode::good;
}

}  // namespace

void add_trace_summary(Program& program, CLI::App& trace) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* summary = trace.add_subcommand(
      "summary", "Busy and idle time with its causes, steps, stages, kernels, host waits");
  summary->fallthrough();
  summary->footer(
      "Several files, or a folder of them, are the ranks of one job: each has a line of its own, "
      "and "
      "all are summarised on one time line. Clocks of several hosts are aligned by their common "
      "collectives, else by their common steps, and what was assumed is said; where neither is "
      "there, figures over several hosts are left out. Also: --json --quiet --color (see nsatune "
      "--help)\n\nExamples:\n"
      "  nsatune trace summary trace.json.gz\n"
      "  nsatune trace summary report.sqlite --json | jq .idle_by_class_ns\n"
      "  nsatune trace summary traces/                 # of all ranks, as trace record leaves "
      "them\n"
      "  nsatune trace summary rank*.json.gz --json | jq '.ranks[].exposed_comm_ns'");
  summary
      ->add_option("files", options->files,
                   std::string("Traces, or folders of them. A trace: ") + kTraceFiles)
      ->required();
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
