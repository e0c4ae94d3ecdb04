#include "nsa/reports/text_table.hpp"

#include <algorithm>
#include <array>

#include "nsa/schemas/error.hpp"

namespace nsa::reports {
namespace {

constexpr std::array<std::string_view, 6> kAnsi{"",           "\033[1m",  "\033[2m",
                                                "\033[1;32m", "\033[31m", "\033[33m"};

constexpr std::size_t kLeastWidth = 24;  // of a column that is shortened

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string inked(std::string_view text, Ink ink, Style style) {
  const std::string_view code = kAnsi[static_cast<std::size_t>(ink)];
  if (!style.color || code.empty() || text.empty()) return std::string(text);
  return std::string(code).append(text).append("\033[0m");
}

void TextTable::add_column(std::string header, Align align) {
  columns_.push_back({std::move(header), align});
}

void TextTable::add_row(std::vector<Cell> cells) {
  expects(cells.size() <= columns_.size(), "no more cells than columns");
  cells.resize(columns_.size());
  for (Cell& cell : cells) cell.text = printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> result;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].header);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    result.push_back(width);
  }
  return result;
}

void TextTable::fit(std::size_t columns) {
  if (columns_.empty()) return;
  const std::vector<std::size_t> width = widths();
  std::size_t others = 2 * (width.size() - 1);
  for (std::size_t c = 0; c + 1 < width.size(); ++c) others += width[c];
  std::vector<std::string> last;
  for (const auto& row : rows_) last.push_back(row.back().text);
  last =
      shortened_apart(std::move(last), std::max(kLeastWidth, columns - std::min(columns, others)));
  for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r].back().text = std::move(last[r]);
}

std::string TextTable::render(Style style, std::size_t indent) const {
  const std::vector<std::size_t> width = widths();
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string blanks(width[c] - display_width(cells[c].text), ' ');
      const std::string shown = inked(cells[c].text, cells[c].ink, style);
      text += columns_[c].align == Align::right ? blanks + shown : shown + blanks;
      if (c + 1 < cells.size()) text += "  ";
    }
    return trimmed(std::move(text)) + "\n";
  };
  std::vector<Cell> header;
  for (const Column& column : columns_) header.emplace_back(column.header, Ink::dim);
  std::string text = line(header);
  for (const auto& row : rows_) text += line(row);
  return text;
}

std::string TextTable::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += " " + escaped(column.header) + " |";
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const Cell& cell : row) text += " " + escaped(cell.text) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace nsa::reports
