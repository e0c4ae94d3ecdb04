// What every command shares: global flags, where output goes, how a command is registered.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {

/// Flags that every command takes.
struct Settings {
  bool json = false;
  bool quiet = false;
  std::string color = "auto";
  std::optional<std::string> device;  // "cpu", "cuda:0", "auto"; else NSATUNE_DEVICE
  std::optional<std::string> db;      // else NSATUNE_DB, else results.sqlite

  std::string db_path() const;
  /// Whether text on stdout may hold colours.
  bool color_out() const;
  /// How text on stdout may look: colours, and no wider than the terminal (or COLUMNS).
  reports::Style style_out() const;
};

/// The program: its parser, and the command that was chosen.
struct Program {
  CLI::App app{
      "Measures every Native Sparse Attention kernel variant on this machine, decides which "
      "one runs at which length, and shows what ran.",
      "nsatune"};
  Settings settings;
  std::function<ExitCode()> command;  // set by the parser

  /// A subcommand whose body is `run`; global flags may stand after it.
  CLI::App* add(const std::string& name, const std::string& about, const std::string& examples,
                std::function<ExitCode()> run);
  /// The same under another command, with the whole text that follows its flags in the help. Where
  /// `parent` has a body of its own, that of the subcommand is the one that runs.
  CLI::App* add_to(CLI::App& parent, const std::string& name, const std::string& about,
                   const std::string& footer, std::function<ExitCode()> run);
};

/// Columns of the terminal on stdout, else COLUMNS; 0 where neither says.
std::size_t columns_out();
/// The same of stderr.
std::size_t columns_err();
/// TERM=dumb: a terminal that takes neither colours nor a line that is written over.
bool dumb_terminal();
/// What stands for stdout in place of a file to write.
inline constexpr const char* kStdout = "-";
/// One line to stderr unless --quiet.
void say(const Settings& settings, const std::string& line);
/// Why a command ends with exit 3, in one line to stderr. It is no note: --quiet prints it too.
ExitCode nothing_judged(const std::string& why);
/// JSON as text; bytes that are no UTF-8 (file names may hold them) are replaced. indent -1: one
/// line.
std::string json_text(const Json& document, int indent = -1);
/// The one document of --json on stdout.
void print_json(const Json& document);
/// Text to stdout.
void print_text(const std::string& text);
/// The same, with lines that are longer than columns_out() broken between words.
void print_fitted(const std::string& text);

/// InputError where a flag of the command line, a global one or of the chosen command, has the
/// value '': an unset variable of a script, never what somebody wants.
void refuse_empty_values(const CLI::App& app);
/// Digits only, and not above what std::uint64_t holds: the parser would wrap "-1" and cut the
/// rest.
CLI::Validator whole_number();
/// From `least` to `most`, both included. NaN, which passes CLI::Range, is refused.
CLI::Validator number_in(double least, double most);
/// Names the values of a flag or argument for its help and for shells that complete it. It refuses
/// nothing: who reads the value does, in words of his own.
CLI::Validator has_values(const std::vector<std::string>& names);
/// Lets every flag of `app` and its commands that takes a whole number understand 8k and 1e3.
void understand_counts(CLI::App& app);
/// The words of the command line with 512,1024,2048 for 512:2k:x2 wherever a flag takes a list of
/// whole numbers. InputError on a range that does not end.
std::vector<std::string> spell_out_ranges(const CLI::App& program, int argc,
                                          const char* const* argv);

/// Declares --share, for a command that measures on a device.
void declare_share(CLI::App& sub, bool& share);

// Each command has a file of its name.
void add_devices(Program& program);
void add_variants(Program& program);
void add_sweep(Program& program);
void add_tune(Program& program);
void add_explain(Program& program);
void add_run(Program& program);
void add_memory(Program& program);
void add_db(Program& program);
void add_doctor(Program& program);
void add_export(Program& program);
void add_import(Program& program);
void add_trace(Program& program);
void add_verify(Program& program);
void add_check(Program& program);
void add_ack(Program& program);
void add_selftest(Program& program);
void add_power(Program& program);
void add_bisect(Program& program);
void add_report(Program& program);
void add_worker(Program& program);
void add_worker_sim(Program& program);
void add_help(Program& program);

}  // namespace nsa::cli
