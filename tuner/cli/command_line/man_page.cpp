#include "command_line/command_line.hpp"

#include <algorithm>
#include <memory>
#include <sstream>

#include "version.hpp"

namespace nsa::cli {
namespace {

/// One line as roff prints it: no backslash, dash or leading dot is taken for a request.
std::string roff(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string dashed(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

/// A name in bold and what it means, indented below.
std::string entry(const std::string& name, const std::string& rest, const std::string& meaning) {
  return ".TP\n\\fB" + roff(name) + "\\fR" + roff(rest) + "\n" + roff(meaning) + "\n";
}

std::string synopsis(const CommandPlace& place, const CLI::Formatter& formatter) {
  const std::string usage = formatter.make_usage(place.app, place.path);
  const std::size_t from = usage.find(place.path);
  const std::string rest = usage.substr(from + place.path.size());
  return ".B " + roff(place.path) + "\n" + roff(rest.substr(0, rest.find('\n'))) + "\n";
}

std::string options_of(const CLI::App& app, const CLI::Formatter& formatter, bool positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() != positional || option->get_group().empty()) continue;
    text += entry(formatter.make_option_name(option, positional),
                  formatter.make_option_opts(option), formatter.make_option_desc(option));
  }
  return text;
}

std::string commands_of(const CommandPlace& place) {
  std::string text;
  for (const CLI::App* command : place.app->get_subcommands({}))
    text += entry(place.path + " " + command->get_name(), "", command->get_description());
  return text;
}

/// The text below the flags: examples keep their lines, the rest flows.
std::string footer_of(const std::string& footer) {
  std::istringstream lines(footer);
  std::string text;
  bool examples = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with(' ');
    if (examples && !indented) text += ".fi\n";
    examples = examples && indented;
    if (line == "Examples:") {
      text += section("EXAMPLES") + ".nf\n";
      examples = true;
    } else {
      text += line.empty() ? ".PP\n" : roff(line) + "\n";
    }
  }
  return text + (examples ? ".fi\n" : "");
}

/// The command above, and those below.
std::string see_also(const CommandPlace& place, const std::vector<CommandPlace>& all) {
  std::string text;
  for (const CommandPlace& other : all) {
    const bool above = other.path == place.path.substr(0, place.path.rfind(' '));
    const bool below = other.path.substr(0, other.path.rfind(' ')) == place.path;
    if (other.path == place.path || !(above || below)) continue;
    text += (text.empty() ? "" : ",\n") + std::string(".BR ") + roff(dashed(other.path)) + " (1)";
  }
  // A comma belongs to the request that it follows.
  for (std::size_t at; (at = text.find("(1),\n")) != text.npos;) text.replace(at, 5, "(1) ,\n");
  return text.empty() ? "" : section("SEE ALSO") + text + "\n";
}

}  // namespace

std::string man_page_name(const CommandPlace& place) { return dashed(place.path) + ".1"; }

std::string man_page(const CommandPlace& place, const std::vector<CommandPlace>& all) {
  const CLI::Formatter formatter;
  std::string title = dashed(place.path);
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  std::string page = ".TH " + roff(title) + " 1 \"\" \"" + program_version() +
                     "\" \"User Commands\"\n" + section("NAME") + roff(dashed(place.path)) +
                     " \\- " + roff(place.app->get_description()) + "\n" + section("SYNOPSIS") +
                     synopsis(place, formatter);
  const auto add = [&page](const char* name, const std::string& text) {
    if (!text.empty()) page += section(name) + text;
  };
  add("COMMANDS", commands_of(place));
  add("ARGUMENTS", options_of(*place.app, formatter, true));
  add("OPTIONS", options_of(*place.app, formatter, false));
  if (!place.app->get_footer().empty()) {
    const std::string footer = footer_of(place.app->get_footer());
    page += footer.starts_with(".SH") ? footer : section("NOTES") + footer;
  }
  return page + see_also(place, all);
}

}  // namespace nsa::cli
