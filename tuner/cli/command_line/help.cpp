// nsatune help: what --help of a command prints, in the order in which people type it, or its
// manual page.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "command_line/command_line.hpp"
#include "nsa/schemas/output_path.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

const CLI::App& command_of(const CLI::App& parent, const std::string& word) {
  const auto commands = parent.get_subcommands({});
  const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
  if (found == commands.end()) throw InputError(no_command(parent, word));
  return **found;
}

struct HelpOptions {
  std::vector<std::string> words;
  bool man = false, variables = false;
  std::string man_folder;
};

std::string help_text(const CommandPlace& asked) {
  const std::size_t space = asked.path.rfind(' ');
  // help() of the program would be that of the command that was chosen, which is this one.
  return space == asked.path.npos ? asked.app->get_formatter()->make_help(
                                        asked.app, asked.path, CLI::AppFormatMode::Normal)
                                  : asked.app->help(asked.path.substr(0, space));
}

/// Below `folder` as man finds them where MANPATH names it.
void write_pages(const std::vector<CommandPlace>& all, const std::string& folder) {
  const std::filesystem::path section = std::filesystem::path(folder) / "man1";
  make_folder(section.string());
  for (const CommandPlace& place : all)
    write_text_file((section / man_page_name(place)).string(), man_page(place, all));
}

ExitCode print_help(const CLI::App& program, const HelpOptions& o) {
  const std::vector<CommandPlace> all = command_tree(program, "nsatune");
  CommandPlace asked = all.front();
  for (const std::string& word : o.words)
    asked = {asked.path + " " + word, &command_of(*asked.app, word)};
  if (o.variables) {
    print_text(variables_markdown());
  } else if (!o.man_folder.empty()) {
    write_pages(all, o.man_folder);
  } else {
    o.man ? print_text(man_page(asked, all)) : print_fitted(help_text(asked));
  }
  return ExitCode::good;
}

}  // namespace

void add_help(Program& program) {
  const auto o = std::make_shared<HelpOptions>();
  CLI::App* sub = program.add("help", "Print the help of a command",
                              "  nsatune help sweep\n"
                              "  nsatune help db info\n"
                              "  nsatune help sweep --man | man -l -\n",
                              [o, &program] { return print_help(program.app, *o); });
  sub->add_option("of", o->words, "The command, and its subcommand if it has any");
  sub->add_flag("--man", o->man, "Print it as a manual page (roff)");
  sub->add_flag("--variables", o->variables,
                "Print every environment variable that is read (Markdown)");
  sub->add_option("--man-pages", o->man_folder,
                  "Write the manual pages of all commands into man1 of this folder, for MANPATH");
}

}  // namespace nsa::cli
