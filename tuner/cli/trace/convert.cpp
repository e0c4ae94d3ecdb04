// trace convert: any trace that is read, to the one form that is written.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/write.hpp"

namespace nsa::cli {
namespace {

struct ConvertOptions {
  std::vector<std::string> files;  // the last one is written
};

/// A shell's pattern without a name after it would have the last trace written over.
void refuse_loss(const std::vector<std::string>& inputs, const std::string& out) {
  refuse_database(out);
  std::error_code ignored;
  for (const std::string& file : inputs) {
    if (std::filesystem::equivalent(file, out, ignored))
      throw InputError(out + ": is one of the traces that are read; write to another file");
  }
  if (inputs.size() > 1 && std::filesystem::exists(out, ignored))
    throw InputError(out + ": is there already; name a new file after the traces, or remove it");
}

ExitCode convert(const Settings& settings, const ConvertOptions& options) {
  if (options.files.size() < 2)
    throw InputError("trace convert: give the trace and the file to write");
  const std::string& out = options.files.back();
  if (!out.ends_with(".json") && !out.ends_with(".json.gz"))
    throw InputError(out +
                     ": what is written is Chrome trace JSON; end the name in .json or "
                     ".json.gz");
  const std::vector<std::string> inputs =
      trace_files({options.files.begin(), options.files.end() - 1});
  refuse_loss(inputs, out);
  std::vector<trace::Trace> traces = read_traces(inputs);
  trace::expect_one_job(traces);
  const trace::Trace merged = trace::merge_traces(std::move(traces));
  if (const auto& clocks = merged.source.clocks; inputs.size() > 1) {
    if (clocks->alignment == trace::ClockAlignment::none)
      throw InputError(
          clocks->assumption +
          ", and not all say their absolute time (baseTimeNanoseconds); convert them one by one");
    say(settings, reports::clocks_text(*clocks));
  }
  trace::write_chrome_trace(merged, out);
  say(settings, fmt::format("{}: {}, {}, {}", out, counted(std::ssize(merged.ops), "GPU operation"),
                            counted(std::ssize(merged.calls), "API call"),
                            counted(std::ssize(merged.ranges), "range")));
  return ExitCode::good;
}

}  // namespace

void add_trace_convert(Program& program, CLI::App& trace) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* sub = trace.add_subcommand(
      "convert", "Write a trace as Chrome trace JSON for Perfetto and chrome://tracing");
  sub->fallthrough();
  sub->footer(
      "Several traces, or a folder of them, become one, each rank with rows of its own; trace "
      "summary --help says how their clocks are brought together. Kept are GPU operations, API "
      "calls, operators, annotations, NVTX ranges, Python functions and stacks, memory, counters "
      "and the profiler's own time; of operators and collectives their shapes, sizes, External ids "
      "and autograd's numbers.\n\nExamples:\n"
      "  nsatune trace convert report.sqlite trace.json.gz\n"
      "  nsatune trace convert rank0.json.gz rank1.json.gz merged.json.gz");
  sub->add_option(
         "files", options->files,
         std::string("Traces, then the file to write (.json or .json.gz). A trace: ") + kTraceFiles)
      ->required();
  sub->callback([&program, options] {
    program.command = [&program, options] { return convert(program.settings, *options); };
  });
}

}  // namespace nsa::cli
