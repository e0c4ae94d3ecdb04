#include "nsa/reports/fit_lines.hpp"

#include <algorithm>

#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

constexpr char kEscape = '\033';

/// Columns that `text` takes beside its colours ("\033[31m").
std::size_t visible_width(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == kEscape)
      at = std::min(text.find('m', at), text.size());
    else
      shown += text[at];
  }
  return display_width(shown);
}

/// Where the lines begin in which `line` goes on.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
  const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", own);
  if (gap != line.npos) {
    const std::size_t after = line.find_first_not_of(' ', gap);
    if (after != line.npos && visible_width(line.substr(0, after)) <= columns / 2)
      return visible_width(line.substr(0, after));
  }
  return own + 2;
}

/// The next word with the blanks before it, taken off the front of `line`.
std::string_view take_word(std::string_view& line) {
  const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = std::min(line.find(' ', word), line.size());
  const std::string_view taken = line.substr(0, end);
  line.remove_prefix(end);
  return taken;
}

void append_fitted(std::string& text, std::string_view line, std::size_t columns) {
  if (visible_width(line) <= columns) {
    text += line;
    return;
  }
  const std::string indent(hanging_indent(line, columns), ' ');
  bool first = true;  // of its line
  for (std::size_t used = 0; !line.empty(); first = false) {
    std::string_view word = take_word(line);
    if (!first && used + visible_width(word) > columns) {
      word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
      text.append("\n").append(indent);
      used = indent.size();
    }
    text += word;
    used += visible_width(word);
  }
}

}  // namespace

std::string fit_lines(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  std::string fitted;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    append_fitted(fitted, text.substr(0, end), columns);
    if (end == text.npos) break;
    fitted += '\n';
    text.remove_prefix(end + 1);
  }
  return fitted;
}

}  // namespace nsa::reports
