// doctor: rules over environment, configs, logs, heartbeats, traces and a running command.
#include <fstream>
#include <iterator>
#include <memory>

#include "evidence.hpp"
#include "nsa/doctor/report_json.hpp"
#include "nsa/reports/doctor_text.hpp"
#include "program.hpp"
#include "sweep/options.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kExamples =
    "  nsatune doctor                                 # variables of this shell\n"
    "  nsatune doctor train.yaml run.log trace.json.gz heartbeat_rank0.jsonl\n"
    "  nsatune doctor --env-file /proc/4711/environ   # variables of a running process\n"
    "  nsatune doctor train.yaml --for 60s -- python train.py\n"
    "  nsatune doctor --list\n"
    "  nsatune doctor --list --markdown > docs/doctor.md\n\n"
    "Exit code 0: nothing found; 1: findings; 2: bad input; 3: no findings, but a trace without "
    "GPU\n"
    "operations, a config without a known key, a results database alone or a command that failed "
    "at\n"
    "once could not be judged; 4: the machine cannot do it now.\n"
    "A command ends with SIGINT after --for; its stdin is empty and its output goes to stderr.";

/// How many arguments stand after the first "--" of the command line: the parser hands them over
/// together with those before it.
std::size_t arguments_after_dashes() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::size_t behind = 0;
  bool seen = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (seen) ++behind;
    seen = seen || std::string_view(text).substr(at, end - at) == "--";
    at = end + 1;
  }
  return behind;
}

void take_command(DoctorOptions& options) {
  const std::size_t behind = std::min(arguments_after_dashes(), options.files.size());
  const auto first = options.files.end() - static_cast<std::ptrdiff_t>(behind);
  options.command.assign(first, options.files.end());
  options.files.erase(first, options.files.end());
  if (options.command.empty() && options.for_s)
    throw InputError("--for: there is no command; put it after --");
  if (options.command.empty() && options.record)
    throw InputError("--record: there is no command; put it after --");
}

ExitCode list_rules(const Settings& settings, const DoctorOptions& options) {
  const reports::Style style = settings.style_out();
  if (settings.json) {
    print_json(doctor::rules_document());
  } else {
    print_text(options.markdown ? reports::doctor_markdown() : reports::doctor_rules_table(style));
  }
  return ExitCode::good;
}

ExitCode run_doctor(const Settings& settings, DoctorOptions options) {
  if (options.list) return list_rules(settings, options);
  if (options.markdown) throw InputError("--markdown: goes with --list");
  take_command(options);
  const doctor::Report report = doctor::examine(gather_evidence(settings, options));
  if (settings.json) {
    print_json(doctor::to_document(report));
  } else {
    print_fitted(reports::doctor_text(report, settings.style_out()));
  }
  if (!report.findings.empty()) return ExitCode::found;
  return report.any_silent() ? ExitCode::nothing_judged : ExitCode::good;
}

}  // namespace

void add_doctor(Program& program) {
  auto options = std::make_shared<DoctorOptions>();
  auto limit = std::make_shared<std::string>();
  auto behind = std::make_shared<std::string>();  // stays empty
  CLI::App* command = program.add(
      "doctor", "Why is it slow: checks environment, configs, logs, traces, a running command",
      kExamples, [&program, options, limit, behind] {
        if (!limit->empty()) options->for_s = parse_duration("--for", *limit);
        return run_doctor(program.settings, *options);
      });
  command->add_option(
      "files", options->files,
      "Configs (YAML), logs, heartbeat JSONL, traces, files of variables, a results "
      "database: recognised by content");
  // The parser hands everything to `files`; without a place that is still free it would look for
  // what stands after -- among the commands.
  command->add_option("command", *behind, "After --: a command to start and watch");
  command->add_option("--config", options->configs, "A training config (YAML)")
      ->allow_extra_args(false);
  command->add_option("--log", options->logs, "A training log")->allow_extra_args(false);
  command
      ->add_option("--env-file", options->environment_files,
                   "Variables from a shell script or /proc/PID/environ, not from this process")
      ->allow_extra_args(false);
  command->add_option("--for", *limit, "Stop the command after this long: 30s, 5m");
  command->add_option("--record", options->record,
                      "Write what was read from the command to a file that doctor can read later");
  command->add_flag("--list", options->list, "The table of rules");
  command->add_flag("--markdown", options->markdown, "With --list: as in docs/doctor.md");
}

}  // namespace nsa::cli
