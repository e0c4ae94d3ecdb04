// Text of somebody else's program before it reaches a terminal, a file or the database.
#pragma once

#include <string>
#include <string_view>

namespace nsa {

/// The text with everything that a terminal acts upon, or that is not seen, spelled out: controls
/// as "\x1b" and "\u009b" ("\n", "\t" and "\r" by their names), bytes that are no UTF-8 as "\xff",
/// overrides of the direction, separators of lines and invisible characters as "\u202e". What is
/// left is valid UTF-8 on one line, and stays as it is when the function sees it again.
std::string visible(std::string_view text);

}  // namespace nsa
