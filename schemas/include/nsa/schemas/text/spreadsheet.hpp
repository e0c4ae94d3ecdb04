// Cells of a CSV that spreadsheets take for text, whatever strangers wrote. Functions share
// nothing: threads may call them at the same time.
#pragma once

#include <string>
#include <string_view>

namespace nsa {

/// A cell that no spreadsheet runs: one that would begin as a formula, and is no number, gets an
/// apostrophe before it. So does one that begins with apostrophes and then as a formula, so that
/// without_guard() gives all texts back.
std::string with_guard(std::string_view cell);
/// The text that with_guard() wrote.
std::string without_guard(std::string_view cell);

}  // namespace nsa
