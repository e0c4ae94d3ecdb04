#include "nsa/schemas/text/spreadsheet.hpp"

#include <charconv>

namespace nsa {
namespace {

bool is_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// After its apostrophes, if any.
bool begins_as_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string with_guard(std::string_view cell) {
  std::string text(cell);
  if (begins_as_formula(cell) && !is_number(cell)) text.insert(0, 1, '\'');
  return text;
}

std::string without_guard(std::string_view cell) {
  const bool guarded = cell.starts_with('\'') && begins_as_formula(cell);
  return std::string(cell.substr(guarded ? 1 : 0));
}

}  // namespace nsa
