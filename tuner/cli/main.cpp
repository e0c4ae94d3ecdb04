// Parses the command line, runs one command, and turns exceptions into one line and an exit code.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "nsa/kernels/workspace.hpp"
#include "nsa/reports/fit_lines.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/tuner/signals.hpp"
#include "program.hpp"
#include "version.hpp"

namespace {

using nsa::ExitCode;

constexpr const char* kAskForLess = "ask for less: a shorter sequence, a smaller batch or model";

constexpr const char* kExitCodes =
    "Exit codes: 0 good; 1 the check found something; 2 usage or bad input; 3 nothing could be "
    "judged; 4 the machine cannot do it now (no device, disk full, database locked); "
    "130 a sweep was stopped by a signal (rerun the same command to resume).";

void add_commands(nsa::cli::Program& program) {
  nsa::cli::add_devices(program);
  nsa::cli::add_variants(program);
  nsa::cli::add_sweep(program);
  nsa::cli::add_tune(program);
  nsa::cli::add_verify(program);
  nsa::cli::add_explain(program);
  nsa::cli::add_run(program);
  nsa::cli::add_memory(program);
  nsa::cli::add_db(program);
  nsa::cli::add_doctor(program);
  nsa::cli::add_export(program);
  nsa::cli::add_import(program);
  nsa::cli::add_trace(program);
  nsa::cli::add_check(program);
  nsa::cli::add_ack(program);
  nsa::cli::add_selftest(program);
  nsa::cli::add_power(program);
  nsa::cli::add_bisect(program);
  nsa::cli::add_report(program);
  nsa::cli::add_worker(program);
  nsa::cli::add_worker_sim(program);
}

void add_global_flags(nsa::cli::Program& program) {
  CLI::App& app = program.app;
  auto& s = program.settings;
  app.add_flag("--json", s.json, "One JSON document on stdout; everything else goes to stderr");
  app.set_version_flag(  // after --json, whose value it reads
      "--version",
      [&s] {
        return s.json ? nsa::cli::json_text(nsa::cli::version_json(), 2) : nsa::cli::version_text();
      },
      "Print which build this is: version, commit, compiler, CUDA (with --json: all of it)");
  app.add_flag("-q,--quiet", s.quiet, "No progress and no notes on stderr");
  app.add_option("--color", s.color, "Colours: auto (on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option(
      "--device", s.device,
      "Device id as `nsatune devices` prints it: cpu, cuda:0, ... (default: NSATUNE_DEVICE, "
      "else auto: the first GPU, or the CPU where there is none)");
  app.add_option("--db", s.db, "Results database (default: NSATUNE_DB, else results.sqlite)");
  app.require_subcommand(1);
  app.footer(
      std::string("Examples:\n"
                  "  nsatune devices\n"
                  "  nsatune sweep quick && nsatune tune -o thresholds.json\n"
                  "  nsatune explain thresholds.json --seq-len 2048\n"
                  "  nsatune run --preset 125m --seq-len 2048 --thresholds thresholds.json\n\n") +
      kExitCodes);
}

/// One line, whatever a file or an argument that the message quotes has in it.
int report(const std::string& what, ExitCode code) {
  std::fprintf(stderr, "nsatune: %s\n", nsa::reports::printable(what).c_str());
  return static_cast<int>(code);
}

int report(const std::filesystem::filesystem_error& e) {
  return report(e.path1().string() + ": " + e.code().message(),
                nsa::is_wrong_name(e.code().value()) ? ExitCode::bad_input : ExitCode::environment);
}

/// What --help or --version ask for.
int print_wanted(CLI::App& app, const CLI::Success& wanted) {
  std::ostringstream text;
  const int code = app.exit(wanted, text);
  const bool help = dynamic_cast<const CLI::CallForHelp*>(&wanted) != nullptr;
  help ? nsa::cli::print_fitted(text.str()) : nsa::cli::print_text(text.str());
  return code;
}

int run(int argc, char** argv) {
  nsa::cli::Program program;
  add_global_flags(program);
  add_commands(program);
  nsa::cli::add_help(program);
  nsa::cli::add_completion(program);
  nsa::cli::understand_counts(program.app);
  if (argc < 2) {
    const std::string help = nsa::reports::fit_lines(program.app.help(), nsa::cli::columns_err());
    std::fputs(help.c_str(), stderr);
    return static_cast<int>(ExitCode::bad_input);
  }
  try {
    const std::vector<std::string> words = nsa::cli::spell_out_ranges(program.app, argc, argv);
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    program.app.parse(argc, arguments.data());
  } catch (const CLI::Success& e) {
    const std::vector<std::string> left = program.app.remaining(true);
    const bool is_version = dynamic_cast<const CLI::CallForVersion*>(&e) != nullptr;
    if (is_version && !left.empty())  // --version --jsn
      return report(nsa::cli::usage_error(program.app, CLI::ExtrasError(left)),
                    ExitCode::bad_input);
    return print_wanted(program.app, e);
  } catch (const CLI::ParseError& e) {
    return report(nsa::cli::usage_error(program.app, e), ExitCode::bad_input);
  }
  nsa::cli::refuse_empty_values(program.app);
  return static_cast<int>(program.command());
}

}  // namespace

int main(int argc, char** argv) {
  nsa::tuner::ignore_failed_writes();  // a worker that died is a row, not the end of the program
  try {
    return run(argc, argv);
  } catch (const nsa::InputError& e) {
    return report(e.what(), ExitCode::bad_input);
  } catch (const nsa::EnvironmentError& e) {
    return report(e.what(), ExitCode::environment);
  } catch (const nsa::OutOfMemory& e) {
    return report(std::string(e.what()) + "; " + kAskForLess, ExitCode::environment);
  } catch (const nsa::CudaError& e) {
    return report(e.name + " in " + e.call + ": " + nsa::advice_for(e), ExitCode::environment);
  } catch (const std::filesystem::filesystem_error& e) {
    return report(e);
  } catch (const std::bad_alloc&) {
    return report(std::string("out of memory; ") + kAskForLess, ExitCode::environment);
  } catch (const std::exception& e) {
    return report(std::string("a defect in nsatune: ") + e.what(), ExitCode::environment);
  }
}
