#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::reports {
namespace {

/// How many bytes of `text` fit: whole letters, one at least.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t next = bytes + next_code_point(text.substr(bytes)).bytes;
    if (bytes > 0 && display_width(text.substr(0, next)) > columns) break;
    bytes = next;
  }
  return bytes;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (display_width(text) > columns) {
    const std::size_t most = bytes_within(text, columns);
    const std::size_t blank = text[most] == ' ' ? most : text.substr(0, most).rfind(' ');
    const bool at_blank = blank != text.npos && blank > 0;
    const std::size_t end = at_blank ? blank : most;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (at_blank ? 1 : 0));
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace nsa::reports
