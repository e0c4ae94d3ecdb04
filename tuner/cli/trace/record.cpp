// trace record: runs a program with our tracer inside.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>

#include "child.hpp"
#include "commands.hpp"
#include "nsa/probes/injection.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/schemas/trace_request.hpp"
#include "spools.hpp"
#include "sweep/options.hpp"

namespace nsa::cli {
namespace {

namespace fs = std::filesystem;

struct RecordOptions {
  std::vector<std::string> command;
  std::string folder = "trace", library, step_name, step_kernel;
  std::string module_depth = "blocks", python_stacks = "off";
  std::vector<std::string> module_names, without;
  std::uint64_t warmup = 0, skip = 0;
  std::optional<std::uint64_t> steps, calls;
  std::optional<std::string> seconds, skip_seconds, hang_after;
  bool profiler_api = false, end_on_hang = false, all_calls = false, keep_spools = false;
  bool no_python = false;
};

std::string milliseconds(const char* flag, const std::string& text) {
  return std::to_string(std::llround(parse_duration(flag, text) * 1000));
}

void add_window(const RecordOptions& o, probes::Variables& out) {
  const int windows = (o.steps ? 1 : 0) + (o.calls ? 1 : 0) + (o.seconds ? 1 : 0) + o.profiler_api;
  if (windows > 1)
    throw InputError("--steps, --calls, --seconds and --profiler-api exclude each other");
  if (!o.step_kernel.empty() && (o.calls || o.profiler_api))
    throw InputError("--step-kernel counts steps: not with --calls or --profiler-api");
  const bool counted = o.warmup != 0 || o.skip != 0;
  if (counted && (o.seconds || o.profiler_api))
    throw InputError("--skip and --warmup count steps or calls: give --steps or --calls with them");
  const char* window = o.calls              ? "calls"
                       : o.seconds          ? "seconds"
                       : o.profiler_api     ? "profiler_api"
                       : o.steps || counted ? "steps"
                                            : "all";
  out.emplace_back(spool::kEnvWindow, window);
  out.emplace_back(spool::kEnvSkip, std::to_string(o.skip));
  out.emplace_back(spool::kEnvWarmup, std::to_string(o.warmup));
  out.emplace_back(spool::kEnvCount, std::to_string(o.steps.value_or(o.calls.value_or(0))));
  if (o.seconds) out.emplace_back(spool::kEnvDurationMs, milliseconds("--seconds", *o.seconds));
  if (o.skip_seconds)
    out.emplace_back(spool::kEnvSkipMs, milliseconds("--skip-seconds", *o.skip_seconds));
}

/// 0: none.
std::uint64_t stack_period_us(const std::string& text) {
  if (text == "off") return 0;
  constexpr std::uint64_t kMostMs = 10'000;
  std::uint64_t ms = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, ms);
  const std::string_view rest(unit, end);
  if (error != std::errc{} || (rest != "ms" && rest != "s") || ms == 0 || ms > kMostMs ||
      (rest == "s" && ms > kMostMs / 1000))
    throw InputError("--python-stacks: '" + text +
                     "' is not a whole time from 1ms to 10s, nor off");
  return ms * (rest == "s" ? 1'000'000 : 1000);
}

/// The hook comes in as the first sitecustomize on PYTHONPATH.
void add_python_hook(const RecordOptions& o, const std::string& hook, probes::Variables& out) {
  const std::uint64_t stacks_us = stack_period_us(o.python_stacks);
  if (o.no_python) return;
  if (stacks_us > 0) out.emplace_back(spool::kEnvPythonStacksUs, std::to_string(stacks_us));
  if (hook.empty()) return;
  const char* path = std::getenv("PYTHONPATH");
  out.emplace_back("PYTHONPATH", path && *path ? hook + ":" + path : hook);
  out.emplace_back(spool::kEnvPython, "1");
  out.emplace_back(spool::kEnvModuleDepth, o.module_depth);
  out.emplace_back(spool::kEnvModuleNames, fmt::format("{}", fmt::join(o.module_names, ",")));
}

probes::Variables environment_of(const RecordOptions& o, const std::string& library,
                                 const std::string& folder) {
  probes::Variables out = probes::tracer_variables(library, folder);
  add_window(o, out);
  if (!o.step_name.empty()) out.emplace_back(spool::kEnvStepName, o.step_name);
  if (!o.step_kernel.empty()) out.emplace_back(spool::kEnvStepKernel, o.step_kernel);
  if (o.hang_after)
    out.emplace_back(spool::kEnvHangMs, milliseconds("--hang-after", *o.hang_after));
  if (o.end_on_hang) out.emplace_back(spool::kEnvOnHang, "end");
  if (o.all_calls) out.emplace_back(spool::kEnvAllCalls, "1");
  out.emplace_back(spool::kEnvWithout, fmt::format("{}", fmt::join(o.without, ",")));
  return out;
}

/// Where the traces go. A folder that was made for them goes again when nothing came, unless
/// another `trace record` uses it too (one of several ranks).
class TraceFolder {
 public:
  explicit TraceFolder(const fs::path& path) {
    std::error_code ignored;
    for (fs::path at = path; !at.empty() && !fs::exists(at, ignored); at = at.parent_path())
      made_.push_back(at);
    make(path);
    in_use_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    flock(in_use_, LOCK_SH);
  }
  ~TraceFolder() {
    if (flock(in_use_, LOCK_EX | LOCK_NB) == 0)
      for (const fs::path& path : made_) rmdir(path.c_str());  // the innermost first; only if empty
    close(in_use_);
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

 private:
  static void make(const std::string& path);
  std::vector<fs::path> made_;
  int in_use_ = -1;
};

void TraceFolder::make(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error && error != std::errc::not_a_directory && error != std::errc::file_exists)
    throw EnvironmentError(path + ": cannot be made: " + error.message());
  if (!fs::is_directory(path))
    throw InputError(path + ": is not a folder that traces could be written to");
  if (access(path.c_str(), W_OK) != 0)
    throw EnvironmentError(path + ": cannot be written to: " + strerror(errno));
}

/// Why there is nothing, as far as can be told from outside.
std::string reason_for_nothing(const Recorded& recorded) {
  for (const RecordedProcess& process : recorded.processes)
    for (const trace::Note& note : process.row.notes)
      if (note.what == "nothing" || note.what == "degraded") return note.text;
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return "this machine has no NVIDIA driver (libcuda.so.1)";
  dlclose(driver);
  return recorded.processes.empty() ? "the program never used CUDA"
                                    : "no GPU operation fell into the window";
}

Json document_of(const Recorded& recorded, int exit_code, const std::string& nothing) {
  Json processes = Json::array();
  for (const RecordedProcess& p : recorded.processes) {
    Json notes = Json::array();
    for (const trace::Note& note : p.row.notes)
      notes.push_back({{"what", note.what}, {"text", note.text}});
    const trace::Totals& t = p.row.totals;
    processes.push_back({{"path", p.path.empty() ? Json(nullptr) : Json(p.path)},
                         {"pid", p.row.pid},
                         {"rank", p.row.rank ? Json(*p.row.rank) : Json(nullptr)},
                         {"complete", t.complete},
                         {"launches", t.launches ? Json(*t.launches) : Json(nullptr)},
                         {"recorded", t.recorded},
                         {"gpu_ranges", p.gpu_ranges},
                         {"dropped", t.dropped},
                         {"lost", t.lost},
                         {"outside", t.outside},
                         {"all_there", p.row.all_there ? Json(*p.row.all_there) : Json(nullptr)},
                         {"failure", p.failure.empty() ? Json(nullptr) : Json(p.failure)},
                         {"notes", std::move(notes)}});
  }
  return {{"schema_version", 1},
          {"exit_code", exit_code},
          {"processes", std::move(processes)},
          {"merged", recorded.merged ? Json(*recorded.merged) : Json(nullptr)},
          {"nothing_because", nothing.empty() ? Json(nullptr) : Json(nothing)}};
}

void print_lines(const Settings& settings, const Recorded& recorded, const std::string& nothing) {
  for (const RecordedProcess& process : recorded.processes) {
    say(settings, line_of(process));
    for (const trace::Note& note : process.row.notes) {
      std::istringstream lines(note.text);
      for (std::string line; std::getline(lines, line);)
        say(settings, "  " + note.what + ": " + reports::printable(line));
    }
  }
  if (recorded.merged)
    say(settings, "all processes " + reports::clocks_text(recorded.clocks.value()) + " -> " +
                      *recorded.merged);
  if (!recorded.merge_failure.empty()) say(settings, "no merged view: " + recorded.merge_failure);
  if (!nothing.empty())
    say(settings, "nothing was recorded because " + reports::printable(nothing));
}

/// Not 0, and not that of another recorder, of another machine that shares the folder either.
std::uint64_t recorder_id() {
  std::random_device random;
  return (std::uint64_t{random()} << 32 | random()) | 1;
}

ExitCode record(const Settings& settings, const RecordOptions& options) {
  const std::string library = probes::tracer_library(options.library);
  if (const std::string other = probes::other_tracer(library); !other.empty())
    throw InputError(other);
  const std::string hook = probes::python_hook_folder(library);
  if (hook.empty() && !options.no_python)
    say(settings, "Python programs get no hook: " + fs::path(library).parent_path().string() + "/" +
                      spool::kPythonHookFolder + " is not there");
  const std::string folder = fs::absolute(options.folder).lexically_normal().string();
  ChildPlan plan;
  plan.argv = options.command;
  plan.environment = environment_of(options, library, folder);
  add_python_hook(options, hook, plan.environment);
  const std::uint64_t recorder = recorder_id();
  plan.environment.emplace_back(spool::kEnvRecorder, std::to_string(recorder));
  plan.stdout_to_stderr = settings.json;
  const TraceFolder made(folder);
  const std::set<std::string> before = spools_in(folder);
  const int code = run_child(plan);

  const Recorded recorded = convert_spools(folder, before, recorder, options.keep_spools);
  std::uint64_t events = 0;  // on the GPU
  for (const RecordedProcess& process : recorded.processes)
    events += process.gpu_operations + process.gpu_ranges;
  const std::string nothing = events == 0 ? reason_for_nothing(recorded) : "";
  if (settings.json) print_json(document_of(recorded, code, nothing));
  print_lines(settings, recorded, nothing);
  return static_cast<ExitCode>(code);
}

CLI::Validator module_depth() {
  const auto is_depth = [](const std::string& text) {
    const bool digits = !text.empty() && text.size() < 4 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    return digits || text == "blocks" || text == "all"
               ? std::string()
               : "'" + text + "' is not a depth: a number below 1000, blocks or all";
  };
  return {is_depth, "DEPTH"};
}

void add_options(CLI::App& sub, RecordOptions& o) {
  sub.add_option("command", o.command, "The program and its arguments, after --")->required();
  sub.add_option("-o,--output", o.folder, "Folder for the traces (default: trace)");
  sub.add_option("--steps", o.steps,
                 "Record N steps: NVTX ranges such as \"step 3\", or in PyTorch everything up to "
                 "the end of an optimizer step")
      ->check(whole_number());
  sub.add_option("--calls", o.calls, "Record N launches")->check(whole_number());
  sub.add_option("--skip", o.skip, "Skip the first N steps or calls")->check(whole_number());
  sub.add_option("--warmup", o.warmup, "Then trace N steps or calls and discard them")
      ->check(whole_number());
  CLI::Option* step_name =
      sub.add_option("--step-name", o.step_name, "Name of the NVTX range that is a step");
  sub.add_option("--step-kernel", o.step_kernel,
                 "A step begins at each launch of a kernel whose name contains this (C++ programs)")
      ->excludes(step_name);
  sub.add_option("--seconds", o.seconds, "Record for this long after the first CUDA call: 30s, 2m");
  sub.add_option("--skip-seconds", o.skip_seconds, "Skip this long first: 10s");
  sub.add_flag("--profiler-api", o.profiler_api,
               "Record between cudaProfilerStart and cudaProfilerStop");
  CLI::Option* hang_after = sub.add_option(
      "--hang-after", o.hang_after,
      "When nothing finishes on the GPU for this long, write down what it is executing: 120s");
  sub.add_flag("--end-on-hang", o.end_on_hang, "Then end the program (exit code 124)")
      ->needs(hang_after);
  sub.add_flag("--all-calls", o.all_calls, "Record cudaGetDevice and the like too");
  sub.add_option("--without", o.without,
                 "Leave records out: sync (synchronisations), memory (allocations), overhead "
                 "(waits inside CUDA)")
      ->delimiter(',')
      ->check(CLI::IsMember({"sync", "memory", "overhead"}));
  sub.add_flag("--no-python", o.no_python,
               "Do not hook into Python programs: no steps, modules, data and collectives of "
               "PyTorch, and no --python-stacks");
  sub.add_option("--module-depth", o.module_depth,
                 "How deep modules of PyTorch have ranges: a number, \"blocks\" (default) or "
                 "\"all\"")
      ->check(module_depth());
  sub.add_option("--module-names", o.module_names,
                 "Only modules whose path or class fits a pattern: layers.*.attn")
      ->delimiter(',');
  sub.add_option("--python-stacks", o.python_stacks,
                 "How often to look at which line the main thread of a Python program is: 10ms, "
                 "or off (default)");
  sub.add_flag("--keep-spools", o.keep_spools, "Keep the raw records beside the traces");
  sub.add_option("--library", o.library,
                 "Path of the recording library, if it is not beside the program");
}

}  // namespace

void add_trace_record(Program& program, CLI::App& trace) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* sub =
      trace.add_subcommand("record", "Run any CUDA program and record what its GPU does");
  sub->fallthrough();
  sub->footer(
      "The program keeps its input, output and exit code. Each process that uses CUDA gives a "
      "trace, several also a merged view. Also: --json --quiet (see nsatune --help)\n\nExamples:\n"
      "  nsatune trace record -- python train.py\n"
      "  nsatune trace record --skip 10 --warmup 10 --steps 50 -o traces -- torchrun train.py\n"
      "  nsatune trace record --hang-after 120s --end-on-hang -- ./server");
  add_options(*sub, *options);
  sub->callback([&program, options] {
    program.command = [&program, options] { return record(program.settings, *options); };
  });
}

}  // namespace nsa::cli
