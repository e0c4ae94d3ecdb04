// What is said of a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace nsa::cli {

/// "no command 'swep'; did you mean sweep?" for a word that is none of the commands of `app`.
std::string no_command(const CLI::App& app, const std::string& word);
/// One line: the parser's own words, with what was expected, or the command that was meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace nsa::cli
