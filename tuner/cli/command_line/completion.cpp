// nsatune completion: what a shell completes, made from the commands and flags that the parser has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "command_line/command_line.hpp"
#include "command_line/command_tree.hpp"

namespace nsa::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back(name);
  return flags;
}

std::string words_after(const CommandPlace& place, const CLI::App& program) {
  std::vector<std::string> words;
  for (const CLI::App* command : place.app->get_subcommands({}))
    words.push_back(command->get_name());
  for (const std::string& flag : flags_of(*place.app)) words.push_back("--" + flag);
  if (place.app != &program)  // the program's flags may stand after a command
    for (const std::string& flag : flags_of(program)) words.push_back("--" + flag);
  return fmt::format("{}", fmt::join(words, " "));
}

/// Files where no word fits: most arguments are names of files.
std::string bash_script(const CLI::App& program) {
  std::string paths, words;
  for (const CommandPlace& place : command_tree(program, "nsatune")) {
    if (place.app != &program) paths += (paths.empty() ? "'" : "|'") + place.path + "'";
    words += fmt::format("    '{}') words='{}' ;;\n", place.path, words_after(place, program));
  }
  return "_nsatune() {\n"
         "  local path=nsatune part words=\n"
         "  for part in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$path $part\" in\n      " +
         paths +
         ") path=\"$path $part\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _nsatune nsatune\n";
}

/// Inside of single quotes of fish.
std::string quoted(const std::string& text) {
  std::string line = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') line += '\\';
    line += c == '\n' ? ' ' : c;
  }
  return line + "'";
}

std::string fish_script(const CLI::App& program) {
  std::string text;
  for (const CLI::App* command : program.get_subcommands({}))
    text += fmt::format("complete -c nsatune -n __fish_use_subcommand -a {} -d {}\n",
                        command->get_name(), quoted(command->get_description()));
  for (const CommandPlace& place : command_tree(program, "nsatune")) {
    const bool top = place.app == &program;
    const std::string when =
        top ? "" : fmt::format(" -n '__fish_seen_subcommand_from {}'", place.app->get_name());
    if (!top)
      for (const CLI::App* command : place.app->get_subcommands({}))
        text += fmt::format("complete -c nsatune{} -a {} -d {}\n", when, command->get_name(),
                            quoted(command->get_description()));
    for (const CLI::Option* option : place.app->get_options())
      for (const std::string& name : option->get_lnames())
        text += fmt::format("complete -c nsatune{} -l {} -d {}\n", when, name,
                            quoted(option->get_description()));
  }
  return text;
}

}  // namespace

void add_completion(Program& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* sub = program.add(
      "completion", "Print the script by which a shell completes commands and flags",
      "  nsatune completion bash > ~/.local/share/bash-completion/completions/nsatune\n"
      "  nsatune completion zsh >> ~/.zshrc\n"
      "  nsatune completion fish > ~/.config/fish/completions/nsatune.fish",
      [shell, &program] {
        const std::string zsh = "autoload -U +X bashcompinit && bashcompinit\n";
        print_text(*shell == "fish" ? fish_script(program.app)
                                    : (*shell == "zsh" ? zsh : "") + bash_script(program.app));
        return ExitCode::good;
      });
  sub->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace nsa::cli
