// The group of commands, and trace summary.
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "nsa/page/page.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/trace/filter.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/summary_json.hpp"
#include "page/traces.hpp"
#include "selection.hpp"

namespace nsa::cli {

std::size_t table_columns() {
  const std::size_t columns = columns_out();
  return columns > 0 ? columns : reports::kDefaultColumns;
}

namespace {

struct SummaryOptions {
  std::vector<std::string> files;
  std::size_t top = 20;
  Selection selection;
  std::string csv;   // the table; empty: none
  std::string html;  // the page to write; empty: none
  std::string vega = page::kVegaFolder;
};

/// What a list leaves behind as it grows goes back to the system: by default the C library keeps
/// ever larger pieces, a quarter of what a large trace takes.
void return_freed_memory() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

void print_document(const Json& document, const std::string& csv_table) {
  csv_table.empty() ? print_json(document) : print_text(csv_of(document, csv_table));
}

ExitCode print_one(const Settings& settings, const SummaryOptions& options,
                   const trace::Summary& one) {
  if (!options.csv.empty() || settings.json) {
    print_document(trace::to_document(one), options.csv);
  } else {
    print_fitted(
        reports::trace_summary_table(one, options.top, settings.style_out(), table_columns()));
  }
  return ExitCode::good;
}

/// A page that needs nothing but itself, for one trace or several merged.
void write_page(const Settings& settings, const SummaryOptions& options, const trace::Trace& trace,
                const Json& document) {
  const Json data{{"trace", trace_json(trace, trace::summarize(trace))},
                  {"summary", document},
                  {"words", trace_words()}};
  write_text_file(options.html, page::trace_page_html(data, page::vega_script(options.vega)));
  say(settings, options.html + ": written");
}

/// Recordings in which nothing is left are left out, unless that is all of them.
void keep_of_all(const Settings& settings, const trace::Filter& filter,
                 std::vector<trace::Trace>& traces) {
  std::vector<trace::Trace> kept;
  std::string why;
  for (trace::Trace& trace : traces) {
    try {
      trace::keep(filter, trace);
      kept.push_back(std::move(trace));
    } catch (const InputError& error) {
      if (traces.size() == 1) throw;
      why = error.what();
      say(settings, why + "; it is left out");
    }
  }
  if (kept.empty()) throw InputError(why);
  traces = std::move(kept);
}

ExitCode print_summary(const Settings& settings, const SummaryOptions& options) {
  return_freed_memory();
  trace::Filter filter = filter_of(options.selection);
  if (settings.json && !options.csv.empty())
    throw InputError("--csv and --json exclude each other");
  const std::vector<std::string> files = trace_files(options.files);
  std::error_code ignored;
  for (const std::string& file : files)
    if (!options.html.empty() && std::filesystem::equivalent(file, options.html, ignored))
      throw InputError(options.html +
                       ": is one of the traces that are read; write to another file");
  std::vector<trace::Trace> traces = read_traces(files);
  if (std::all_of(traces.begin(), traces.end(), trace::holds_no_event)) {
    const std::size_t others = files.size() - 1;
    return nothing_judged("trace summary: " + files.front() +
                          (others > 0 ? " and " + std::to_string(others) + " more" : "") +
                          ": no event was recorded, so there is nothing to summarise");
  }
  trace::expect_one_job(traces);
  // What is left out may be what tells how far clocks are apart.
  std::optional<trace::Clocks> clocks;
  if (traces.size() > 1 && filter.any()) clocks = trace::align_traces(traces);
  if (clocks && clocks->comparable()) {
    filter.first_ns = trace::first_event(traces.front());
    for (const trace::Trace& trace : traces)
      filter.first_ns = std::min(*filter.first_ns, trace::first_event(trace));
  }
  keep_of_all(settings, filter, traces);
  trace::sort_by_rank(traces);
  std::vector<trace::Summary> ranks;
  for (const trace::Trace& trace : traces) ranks.push_back(trace::summarize(trace));
  if (ranks.size() == 1) {
    if (!options.html.empty())
      write_page(settings, options, traces.front(), trace::to_document(ranks.front()));
    return print_one(settings, options, ranks.front());
  }
  const trace::Trace together = clocks ? trace::join_traces(std::move(traces), *clocks)
                                       : trace::merge_traces(std::move(traces));
  const trace::Summary merged = trace::summarize(together);
  if (!options.html.empty())
    write_page(settings, options, together, trace::to_document(merged, ranks));
  if (!options.csv.empty() || settings.json) {
    print_document(trace::to_document(merged, ranks), options.csv);
  } else {
    print_fitted(reports::trace_ranks_table(merged, ranks, options.top, settings.style_out(),
                                            table_columns()));
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
      "Several files, or a folder of them, are the ranks of one job: each has a line of its own, "
      "and "
      "all are summarised on one time line. Clocks of several hosts are aligned by their common "
      "collectives, else by their common steps, and what was assumed is said; where neither is "
      "there, figures over several hosts are left out. Also: --json --quiet --color (see nsatune "
      "--help). Exit code: 0 summarised, 3 the files hold no event.\n\nExamples:\n"
      "  nsatune trace summary trace.json.gz\n"
      "  nsatune trace summary report.sqlite --json | jq .idle_by_class_ns\n"
      "  nsatune trace summary trace.json.gz --step 3-7 --stream 7\n"
      "  nsatune trace summary trace.json.gz --csv kernels_by_name > kernels.csv\n"
      "  curl -s URL/trace.json.gz | nsatune trace summary /dev/stdin\n"
      "  nsatune trace summary trace.json.gz --html trace.html\n"
      "  nsatune trace summary traces/                 # of all ranks, as trace record leaves "
      "them\n"
      "  nsatune trace summary rank*.json.gz --json | jq '.ranks[].exposed_comm_ns'");
  summary
      ->add_option("files", options->files,
                   std::string("Traces, or folders of them. A trace: ") + kTraceFiles)
      ->required();
  summary
      ->add_option("--top", options->top,
                   "How many rows a table of the text lists (default 20; 10 of steps, the critical "
                   "path, idle time and communication unless more are asked for)")
      ->check(whole_number());
  summary->add_option("--step", options->selection.steps, "Only these steps, by number: 3 or 3-7");
  summary->add_option("--time", options->selection.time,
                      "Only what begins in this interval, counted from the first event: 10ms-1.5s");
  summary->add_option("--stream", options->selection.stream, "Only operations of this stream");
  summary->add_option("--name", options->selection.name,
                      "Only operations whose name contains this");
  summary->add_option("--csv", options->csv,
                      "One table as CSV, by its name in --json: kernels_by_name, operators, steps");
  summary->add_option("--html", options->html,
                      "Write a page with plots and tables here too; it needs no network");
  summary->add_option(
      "--vega", options->vega,
      std::string("Folder of the Vega library for --html (default ") + page::kVegaFolder + ")");
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
