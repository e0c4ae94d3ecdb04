// The command line as a whole: scripts that complete it, and what is said of one that cannot be
// parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command_line/command_tree.hpp"
#include "program.hpp"

namespace nsa::cli {

/// Adds `completion`: commands and flags as the shells bash, zsh and fish complete them.
void add_completion(Program& program);

/// "no command 'swep'; did you mean sweep?" for a word that is none of the commands of `app`.
std::string no_command(const CLI::App& app, const std::string& word);
/// One line: the parser's own words, with what was expected, or the command that was meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// "nsatune-db-info.1" for "nsatune db info".
std::string man_page_name(const CommandPlace& place);
/// The page of one command; `all` are the commands that SEE ALSO may name.
std::string man_page(const CommandPlace& place, const std::vector<CommandPlace>& all);

/// docs/environment.md: NSATUNE_* of the program, then every NSA_* name of the runtime.
std::string variables_markdown();

}  // namespace nsa::cli
