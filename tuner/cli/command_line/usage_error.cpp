#include "command_line/command_line.hpp"

#include <cctype>

#include "nsa/schemas/text.hpp"

namespace nsa::cli {
namespace {

/// The command that was chosen last: `db` of "nsatune db inof".
const CLI::App& chosen_in(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// The first flag on the line that no command has, without its value; "" where there is none.
std::string unknown_flag(const CLI::App& app) {
  for (const std::string& argument : app.remaining(true))
    if (argument.size() > 1 && argument.front() == '-')
      return argument.substr(0, argument.find('='));
  return {};
}

/// "; did you mean --seq-len?" for a flag that no command on the line has, with one dash or two.
std::string meant_flag(const CLI::App& app) {
  const std::string flag = unknown_flag(app);
  if (flag.size() < 3) return {};       // -x
  std::vector<std::string_view> names;  // without their dashes, which every two flags share
  for (const CLI::App* of : {&chosen_in(app), &app})
    for (const CLI::Option* option : of->get_options())
      names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  const std::string_view nearest =
      nearest_name(std::string_view(flag).substr(flag[1] == '-' ? 2 : 1), names);
  return nearest.empty() ? "" : "; did you mean --" + std::string(nearest) + "?";
}

/// "no flag '--jsn'; did you mean --json?": a line without a command whose flag is why.
std::string wrong_flag(const CLI::App& app) {
  const std::string flag = unknown_flag(app);
  return flag.empty() ? "" : "no flag '" + flag + "'" + meant_flag(app);
}

/// "no command 'swep'; did you mean sweep?"; empty where no word stands in a command's place: the
/// command takes none, or a flag that nobody has stands before the word.
std::string wrong_command(const CLI::App& app) {
  const CLI::App& chosen = chosen_in(app);
  const std::vector<std::string> left = app.remaining(true);
  const bool is_command =
      !left.empty() && !left.front().starts_with('-') && !chosen.get_subcommands({}).empty();
  return is_command ? no_command(chosen, left.front()) : "";
}

/// " (a whole number is expected)" for "Could not convert: --seq-len = 4k".
std::string expected_by(const CLI::App& app, const std::string& what) {
  const std::size_t from = what.find("--");
  if (from == what.npos) return {};
  const std::string flag = what.substr(from, what.find(' ', from) - from);
  const CLI::Option* option = chosen_in(app).get_option_no_throw(flag);
  if (!option) return {};
  const std::string type = option->get_type_name();
  if (type.find("INT") != type.npos) return "; a whole number is expected";
  return type.find("FLOAT") != type.npos ? "; a number is expected" : std::string();
}

/// "b is missing: the trace or folder after" for "b is required"; empty where that names no
/// argument.
std::string missing_argument(const CLI::App& app, const std::string& what) {
  const std::string name = what.substr(0, what.find(' '));
  const CLI::Option* option = chosen_in(app).get_option_no_throw(name);
  if (!option || option->get_description().empty()) return {};
  std::string meaning = option->get_description();
  meaning = meaning.substr(0, meaning.find(". "));
  if (meaning.size() > 1 && std::islower(static_cast<unsigned char>(meaning[1])))
    meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
  return name + " is missing: " + meaning;
}

/// Where flags of the chosen command stand: "nsatune help trace record".
std::string help_for(const CLI::App& app) {
  std::string path;
  for (const CLI::App* of = &chosen_in(app); of != &app; of = of->get_parent())
    path = " " + of->get_name() + path;
  if (path.empty()) return " (nsatune --help lists the commands and flags)";
  return " (nsatune help" + path + " lists what it takes)";
}

}  // namespace

std::string no_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return "no command '" + word + "'" + did_you_mean(word, names);
}

/// "unexpected argument 'extra'", with the flag that takes such a file.
std::string unexpected_argument(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return {};
  const std::string& word = left.front();
  const std::string line = "unexpected argument '" + word + "'";
  return line + (word.ends_with(".sqlite") ? "; a database comes after --db" : "");
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string line = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) ||
      dynamic_cast<const CLI::ExtrasError*>(&error)) {
    if (const std::string wrong = wrong_command(app); !wrong.empty())
      line = wrong;
    else if (const std::string flag = wrong_flag(app); !flag.empty())
      line = flag;
    else if (const std::string missing = missing_argument(app, line); !missing.empty())
      line = missing;
    else if (const std::string extra = unexpected_argument(app); !extra.empty())
      line = extra;
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) line += expected_by(app, line);
  return line + help_for(app);
}

}  // namespace nsa::cli
