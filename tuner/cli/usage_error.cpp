#include "usage_error.hpp"

#include "nsa/schemas/edit_distance.hpp"

namespace nsa::cli {
namespace {

/// The command that was chosen last: `db` of "nsatune db inof".
const CLI::App& chosen_in(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// "no command 'swep'; did you mean sweep?"; empty where no word stands in a command's place.
std::string wrong_command(const CLI::App& app) {
  std::string word;
  for (const std::string& argument : app.remaining(true))
    if (word.empty() && !argument.starts_with('-')) word = argument;
  if (word.empty()) return {};
  std::string nearest;
  std::size_t least = word.size() / 3 + 2;  // further away than that is no suggestion
  for (const CLI::App* command : chosen_in(app).get_subcommands({})) {
    const std::size_t distance = edit_distance(word, command->get_name());
    if (distance >= least) continue;
    nearest = command->get_name();
    least = distance;
  }
  return "no command '" + word + "'" + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
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

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string line = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    if (const std::string wrong = wrong_command(app); !wrong.empty()) line = wrong;
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) line += expected_by(app, line);
  return line + " (nsatune --help lists the commands and flags)";
}

}  // namespace nsa::cli
