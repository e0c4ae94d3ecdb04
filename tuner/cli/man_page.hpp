// Manual pages in roff, from the same description of commands and flags that --help prints.
#pragma once

#include "command_tree.hpp"

namespace nsa::cli {

/// "nsatune-db-info.1" for "nsatune db info".
std::string man_page_name(const CommandPlace& place);
/// The page of one command; `all` are the commands that SEE ALSO may name.
std::string man_page(const CommandPlace& place, const std::vector<CommandPlace>& all);

}  // namespace nsa::cli
