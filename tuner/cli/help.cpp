// nsatune help: what --help of a command prints, in the order in which people type it.
#include <algorithm>
#include <memory>

#include "command_line.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

const CLI::App& command_of(const CLI::App& parent, const std::string& word) {
  const auto commands = parent.get_subcommands({});
  const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
  if (found == commands.end()) throw InputError(no_command(parent, word));
  return **found;
}

ExitCode print_help(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* asked = &program;
  std::string path = "nsatune";
  for (const std::string& word : words) {
    if (asked != &program) path += " " + asked->get_name();
    asked = &command_of(*asked, word);
  }
  // help() of the program would be that of the command that was chosen, which is this one.
  print_text(words.empty() ? program.get_formatter()->make_help(&program, program.get_name(),
                                                                CLI::AppFormatMode::Normal)
                           : asked->help(path));
  return ExitCode::good;
}

}  // namespace

void add_help(Program& program) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = program.add("help", "Print the help of a command",
                              "  nsatune help sweep\n  nsatune help db info\n",
                              [words, &program] { return print_help(program.app, *words); });
  sub->add_option("of", *words, "The command, and its subcommand where it has some");
}

}  // namespace nsa::cli
