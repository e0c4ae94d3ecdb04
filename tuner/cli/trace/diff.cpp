// trace diff: is B faster than A, and where.
#include <cmath>
#include <cstdlib>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/trace/diff_json.hpp"

namespace nsa::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  std::vector<std::string> more_a, more_b;
  double margin_percent = 2;
  std::size_t top = 20;
};

ExitCode exit_code_of(trace::DiffVerdict verdict) {
  switch (verdict) {
    case trace::DiffVerdict::better:
    case trace::DiffVerdict::neutral:
      return ExitCode::good;
    case trace::DiffVerdict::worse:
      return ExitCode::found;
    case trace::DiffVerdict::inconclusive:
    case trace::DiffVerdict::not_comparable:
      return ExitCode::nothing_judged;
  }
  return ExitCode::nothing_judged;
}

/// A file is a run, and so is a folder: of all ranks of a job.
std::vector<trace::RecordedJob> runs_of(const std::string& first,
                                        const std::vector<std::string>& more) {
  std::vector<trace::RecordedJob> out;
  const auto add = [&](const std::string& path) {
    out.push_back({path, read_traces(trace_files({path}))});
  };
  add(first);
  for (const std::string& path : more) add(path);
  return out;
}

ExitCode print_diff(const Settings& settings, const DiffOptions& options) {
  const trace::TraceDiff diff =
      trace::diff_jobs(runs_of(options.a, options.more_a), runs_of(options.b, options.more_b),
                       options.margin_percent / 100);
  if (settings.json) {
    print_json(trace::to_document(diff));
  } else {
    print_fitted(
        reports::trace_diff_table(diff, options.top, settings.style_out(), table_columns()));
  }
  return exit_code_of(diff.verdict);
}

}  // namespace

void add_trace_diff(Program& program, CLI::App& trace) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* sub = trace.add_subcommand(
      "diff", "Compare two traces: steps, stages, kernels; better, worse or undecided");
  sub->fallthrough();
  sub->footer(
      "A folder, as trace record leaves it, is a job: each of its ranks is compared with the same "
      "rank of the other folder, and the job is as slow as its slowest rank.\n\nExit code: 0 "
      "better or neutral, 1 worse, 3 inconclusive or not comparable (another GPU, "
      "other work, other clocks). Also: --json --color (see nsatune --help)\n\nExamples:\n"
      "  nsatune trace diff before.json.gz after.json.gz\n"
      "  nsatune trace diff a1.json.gz b1.json.gz --more-a a2.json.gz --more-b b2.json.gz\n"
      "  nsatune trace diff before/ after/             # of all ranks\n"
      "  nsatune trace diff a.sqlite b.sqlite --margin 5 --json | jq .verdict");
  sub->add_option(
         "a", options->a,
         std::string("The trace before, or a folder of all ranks. A trace: ") + kTraceFiles)
      ->required();
  sub->add_option("b", options->b, "The trace or folder after")->required();
  sub->add_option("--more-a", options->more_a, "Another run of A's program (repeatable)")
      ->allow_extra_args(false);
  sub->add_option("--more-b", options->more_b, "Another run of B's program (repeatable)")
      ->allow_extra_args(false);
  sub->add_option("--margin", options->margin_percent,
                  "Differences of up to this many percent are neutral (default 2)")
      ->check(number_in(0.0, 100.0));
  sub->add_option("--top", options->top, "How many rows a table of the text lists (default 20)")
      ->check(whole_number());
  sub->callback([&program, options] {
    program.command = [&program, options] { return print_diff(program.settings, *options); };
  });
}

}  // namespace nsa::cli
