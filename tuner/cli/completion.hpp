// The command that prints scripts for shells.
#pragma once

#include "program.hpp"

namespace nsa::cli {

/// Adds `completion`: commands and flags as the shells bash, zsh and fish complete them.
void add_completion(Program& program);

}  // namespace nsa::cli
