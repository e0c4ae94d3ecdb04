// Lines of prose within the width of a terminal, broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nsa::reports {

/// Each line of `text` in lines of at most `columns` (0: as it is). What goes on in the next line
/// stands below what follows the first gap of two blanks or more ("file     none"), where that is
/// in the left half, else two blanks further in than the line. A word that is too long by itself (a
/// path) is not broken. Escape sequences of colours take no room.
std::string fit_lines(std::string_view text, std::size_t columns);

}  // namespace nsa::reports
