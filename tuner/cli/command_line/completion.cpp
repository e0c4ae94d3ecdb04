// nsatune completion: what a shell completes, made from the commands and flags that the parser has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/command_tree.hpp"

namespace nsa::cli {
namespace {

using Words = std::vector<std::string>;

/// The values that an option has by its own description: {auto,always,never}.
Words values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open == type.npos || close == type.npos) return {};
  Words values;
  std::istringstream listed(type.substr(open + 1, close - open - 1));
  for (std::string value; std::getline(listed, value, ',');) values.push_back(value);
  return values;
}

Words flags_of(const CLI::Option& option) {
  Words flags;
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  return flags;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// Whether `option` of a command is one of the program's, as --help is.
bool is_shared(const CommandPlace& place, const CLI::App& program, const CLI::Option& option) {
  const Words flags = flags_of(option);
  return place.app != &program && !flags.empty() && program.get_option_no_throw(flags.front());
}

Words commands_of(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// `help` is followed by what it is asked about: a command, and one below it.
constexpr const char* kHelp = "nsatune help";

struct WordsAfter {
  std::string path;
  Words words;
};

/// What may stand after each command. The program's flags may stand after all of them.
std::vector<WordsAfter> words_by_command(const CLI::App& program) {
  std::vector<WordsAfter> all;
  for (const CommandPlace& place : command_tree(program, "nsatune")) {
    Words words = commands_of(place.path == kHelp ? program : *place.app);
    const auto add = [&words](const Words& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    const auto add_long = [&words](const CLI::Option& option) {
      for (const std::string& name : option.get_lnames()) words.push_back("--" + name);
    };
    for (const CLI::Option* option : place.app->get_options()) {
      if (flags_of(*option).empty()) add(values_of(*option));
      if (!is_shared(place, program, *option)) add_long(*option);
    }
    if (place.app != &program)
      for (const CLI::Option* option : program.get_options()) add_long(*option);
    all.push_back({place.path, std::move(words)});
  }
  for (const CommandPlace& asked : command_tree(program, kHelp))
    if (asked.app != &program) all.push_back({asked.path, commands_of(*asked.app)});
  return all;
}

/// Lines of a `case` over "$path $flag": the values of a flag; none where it takes a file or a
/// number.
std::string cases_of_values(const CLI::App& program) {
  std::string cases;
  for (const CommandPlace& place : command_tree(program, "nsatune")) {
    for (const CLI::Option* option : place.app->get_options()) {
      if (!takes_value(*option) || is_shared(place, program, *option)) continue;
      for (const std::string& flag : flags_of(*option)) {
        const std::string pattern = place.app == &program
                                        ? fmt::format("*' {}'", flag)
                                        : fmt::format("'{} {}'", place.path, flag);
        cases +=
            fmt::format("    {}) words='{}' ;;\n", pattern, fmt::join(values_of(*option), " "));
      }
    }
  }
  return cases;
}

/// Files where no word fits: most arguments are names of files. Bash divides words at =.
std::string bash_script(const CLI::App& program) {
  std::string paths, words;
  for (const auto& [path, after] : words_by_command(program)) {
    if (path != "nsatune") paths += (paths.empty() ? "'" : "|'") + path + "'";
    words += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(after, " "));
  }
  return "_nsatune() {\n"
         "  local path=nsatune part words=\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  if [[ $word == = ]]; then word=\n"
         "  elif [[ $flag == = ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  for part in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$path $part\" in\n      " +
         paths +
         ") path=\"$path $part\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         words +
         "  esac\n"
         "  case \"$path $flag\" in\n" +
         cases_of_values(program) +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
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

/// The command that the words before the cursor name, as in bash.
std::string fish_functions(const CLI::App& program) {
  std::string paths;
  for (const auto& [path, after] : words_by_command(program))
    if (path != "nsatune") paths += " '" + path + "'";
  return "function __nsatune_at\n"
         "  set -l path nsatune\n"
         "  set -l words (commandline -opc)\n"
         "  for part in $words[2..-1]\n"
         "    switch \"$path $part\"\n"
         "      case" +
         paths +
         "\n"
         "        set path \"$path $part\"\n"
         "    end\n"
         "  end\n"
         "  test \"$path\" = \"$argv\"\n"
         "end\n";
}

std::string fish_flag(const std::string& when, const CLI::Option& option) {
  std::string line = "complete -c nsatune" + when;
  for (const std::string& name : option.get_lnames()) line += " -l " + name;
  for (const std::string& name : option.get_snames()) line += " -s " + name;
  const Words values = values_of(option);
  if (takes_value(option))
    line += values.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(values, " "));
  return line + " -d " + quoted(option.get_description()) + "\n";
}

std::string fish_script(const CLI::App& program) {
  std::string text = fish_functions(program);
  const auto at = [](const std::string& path) { return " -n '__nsatune_at " + path + "'"; };
  const auto add_commands = [&](const CLI::App& app, const std::string& when) {
    for (const CLI::App* command : app.get_subcommands({}))
      text += fmt::format("complete -c nsatune{} -a {} -d {}\n", when, command->get_name(),
                          quoted(command->get_description()));
  };
  for (const CommandPlace& place : command_tree(program, "nsatune")) {
    const std::string when = at(place.path);
    add_commands(*place.app, when);
    for (const CLI::Option* option : place.app->get_options()) {
      const Words values = values_of(*option);
      if (!flags_of(*option).empty()) {
        if (!is_shared(place, program, *option))
          text += fish_flag(place.app == &program ? "" : when, *option);
      } else if (!values.empty()) {
        text += fmt::format("complete -c nsatune{} -a '{}' -d {}\n", when, fmt::join(values, " "),
                            quoted(option->get_description()));
      }
    }
  }
  for (const CommandPlace& asked : command_tree(program, kHelp))
    add_commands(*asked.app, at(asked.path));
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
