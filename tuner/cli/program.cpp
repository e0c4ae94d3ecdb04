#include "program.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace nsa::cli {

std::string Settings::db_path() const {
  if (db) return *db;
  const char* from_environment = std::getenv("NSATUNE_DB");
  return from_environment && *from_environment ? from_environment : "results.sqlite";
}

bool Settings::color_out() const {
  if (color != "auto") return color == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

CLI::App* Program::add(const std::string& name, const std::string& about,
                       const std::string& examples, std::function<ExitCode()> run) {
  CLI::App* sub = app.add_subcommand(name, about);
  sub->fallthrough();
  sub->footer("Also: --json --quiet --color --device --db (see nsatune --help)\n\nExamples:\n" +
              examples);
  sub->callback([this, run = std::move(run)] { command = run; });
  return sub;
}

void say(const Settings& settings, const std::string& line) {
  if (!settings.quiet) std::fprintf(stderr, "%s\n", line.c_str());
}

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0)
    throw EnvironmentError("stdout: cannot write (closed or disk full)");
}

void print_json(const Json& document) { print_text(document.dump(2) + "\n"); }

}  // namespace nsa::cli
