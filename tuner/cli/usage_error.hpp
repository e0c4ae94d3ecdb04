// What is said of a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace nsa::cli {

/// One line: the parser's own words, with what was expected, or the command that was meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace nsa::cli
