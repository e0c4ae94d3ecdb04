#include "program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "nsa/reports/fit_lines.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/count_text.hpp"

namespace nsa::cli {

std::string Settings::db_path() const {
  if (db) return *db;
  const char* from_environment = std::getenv("NSATUNE_DB");
  return from_environment && *from_environment ? from_environment : "results.sqlite";
}

bool Settings::color_out() const {
  if (color != "auto") return color == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !dumb_terminal() && !(no_color && *no_color);
}

reports::Style Settings::style_out() const {
  return {.color = color_out(), .columns = columns_out()};
}

namespace {

std::size_t columns_of(int stream) {
  struct winsize size {};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* set = std::getenv("COLUMNS");
  const int columns = set ? std::atoi(set) : 0;
  return columns > 0 ? static_cast<std::size_t>(columns) : 0;
}

}  // namespace

std::size_t columns_out() { return columns_of(STDOUT_FILENO); }

std::size_t columns_err() { return columns_of(STDERR_FILENO); }

bool dumb_terminal() {
  const char* term = std::getenv("TERM");
  return term && std::string_view(term) == "dumb";
}

CLI::App* Program::add(const std::string& name, const std::string& about,
                       const std::string& examples, std::function<ExitCode()> run) {
  return add_to(
      app, name, about,
      "Also: --json --quiet --color --device --db (see nsatune --help)\n\nExamples:\n" + examples,
      std::move(run));
}

CLI::App* Program::add_to(CLI::App& parent, const std::string& name, const std::string& about,
                          const std::string& footer, std::function<ExitCode()> run) {
  CLI::App* sub = parent.add_subcommand(name, about);
  sub->fallthrough();
  sub->footer(footer);
  // The parser calls back a subcommand before its parent: the innermost is what was asked for.
  sub->callback([this, run = std::move(run)] {
    if (!command) command = run;
  });
  return sub;
}

void say(const Settings& settings, const std::string& line) {
  if (!settings.quiet) std::fprintf(stderr, "%s\n", visible(line).c_str());
}

ExitCode nothing_judged(const std::string& why) {
  std::fprintf(stderr, "%s\n", visible(why).c_str());
  return ExitCode::nothing_judged;
}

void print_text(const std::string& text) {
  // A long text goes past the buffer, so that only the number of bytes tells of a failure.
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return;
  if (errno != EPIPE)  // whoever reads has seen enough: | head
    throw EnvironmentError("stdout: cannot write (closed or disk full)");
}

void print_fitted(const std::string& text) { print_text(reports::fit_lines(text, columns_out())); }

std::string json_text(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& document) { print_text(json_text(document, 2) + "\n"); }

void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "command") continue;  // of a foreign program
    for (const std::string& value : option->results()) {
      if (value.empty())
        throw InputError(option->get_name() + ": is empty; give a value, or leave it out");
    }
  }
  for (const CLI::App* chosen : app.get_subcommands()) refuse_empty_values(*chosen);
}

namespace {

bool is_count(const CLI::Option& option) {
  return option.get_type_name().find("INT") != std::string::npos;
}

/// Every range of a list as its values; what is none stays as it is.
std::string without_ranges(const std::string& list, char delimiter) {
  std::vector<std::string> values;
  std::istringstream items(list + delimiter);
  for (std::string item; std::getline(items, item, delimiter);) {
    const auto range = tuner::parse_range(item);
    const std::vector<std::string> of_item = range ? *range : std::vector{item};
    values.insert(values.end(), of_item.begin(), of_item.end());
  }
  return fmt::format("{}", fmt::join(values, std::string(1, delimiter)));
}

}  // namespace

std::vector<std::string> spell_out_ranges(const CLI::App& program, int argc,
                                          const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  const CLI::App* command = &program;
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    for (const CLI::App* named : command->get_subcommands({})) {
      if (named->get_name() == words[i]) command = named;
    }
    const std::size_t equals = words[i].find('=');
    if (!words[i].starts_with("--")) continue;
    const CLI::Option* option = command->get_option_no_throw(words[i].substr(0, equals));
    if (!option || option->get_delimiter() == '\0' || !is_count(*option)) continue;
    const auto spell_out = [&](const std::string& list) {
      return without_ranges(list, option->get_delimiter());
    };
    if (equals != std::string::npos)
      words[i] = words[i].substr(0, equals + 1) + spell_out(words[i].substr(equals + 1));
    while (equals == std::string::npos && i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      ++i;
      words[i] = spell_out(words[i]);
    }
  }
  return words;
}

void understand_counts(CLI::App& app) {
  const auto spell_out = [](std::string& text) {
    if (const auto count = tuner::parse_count(text)) text = std::to_string(*count);
    return std::string();  // what is none is refused where the flag is converted
  };
  for (CLI::Option* option : app.get_options()) {
    if (is_count(*option)) option->transform(CLI::Validator(spell_out, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) understand_counts(*command);
}

void declare_share(CLI::App& sub, bool& share) {
  sub.add_flag("--share", share,
               "Measure beside others that use the device, instead of waiting for them");
}

CLI::Validator has_values(const std::vector<std::string>& names) {
  return {[](std::string&) { return std::string(); }, fmt::format("{{{}}}", fmt::join(names, ","))};
}

CLI::Validator whole_number() {
  const auto check = [](std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool good = error == std::errc{} && rest == end;
    return good ? std::string() : text + " is not a whole number from 0 to 2^64 - 1";
  };
  return {check, "UINT64"};
}

CLI::Validator number_in(double least, double most) {
  const auto check = [least, most](std::string& text) {
    double value = std::numeric_limits<double>::quiet_NaN();
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string()
                : fmt::format("{} is not a number from {} to {}", text, least, most);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", least, most)};
}

}  // namespace nsa::cli
