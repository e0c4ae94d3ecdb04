#include "nsa/reports/text_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "nsa/schemas/error.hpp"

namespace nsa::reports {
namespace {

constexpr std::array<std::string_view, 6> kAnsi{"",           "\033[1m",  "\033[2m",
                                                "\033[1;32m", "\033[31m", "\033[33m"};

constexpr std::size_t kLeastWidth = 24;  // of a column that is shortened or wrapped
constexpr std::size_t kLeastTable = 40;  // narrower terminals break lines by themselves
constexpr std::size_t kFurtherIn = 4;    // the second line of a row

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

/// Each line after `indent` blanks.
std::string indented(const std::string& lines, std::size_t indent) {
  const std::string blanks(indent, ' ');
  std::string text;
  for (std::size_t from = 0; from < lines.size();) {
    const std::size_t end = lines.find('\n', from) + 1;
    const bool empty = end - from == 1;
    text += (empty ? "" : blanks) + lines.substr(from, end - from);
    from = end;
  }
  return text;
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

void TextTable::add_columns(std::initializer_list<const char*> headers, Align align) {
  for (const char* header : headers) add_column(header, align);
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
  std::vector<std::size_t> width = widths();
  width.back() = columns;  // of the others nothing is shortened
  const std::vector<Band> lines = bands(width, columns);
  std::vector<std::string> last;
  for (const auto& row : rows_) last.push_back(row.back().text);
  last = shortened_apart(std::move(last), std::max(kLeastWidth, width.back()));
  for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r].back().text = std::move(last[r]);
}

std::vector<TextTable::Band> TextTable::bands(std::vector<std::size_t>& width,
                                              std::size_t room) const {
  std::vector<Band> bands{{0, 0, 0}};
  std::size_t used = 0;
  for (std::size_t c = 0; c < width.size(); ++c) {
    const std::size_t gap = used > 0 ? 2 : 0;
    const bool wraps = c + 1 == width.size() && used + gap + kLeastWidth <= room;
    if (used > 0 && used + gap + width[c] > room && !wraps) {
      bands.push_back({c, c, kFurtherIn});
      used = kFurtherIn;
    }
    used += used > bands.back().indent ? 2 : 0;
    width[c] = std::min(width[c], room - std::min(room - 1, used));
    used += width[c];
    bands.back().end = c + 1;
  }
  return bands;
}

std::string TextTable::line(const std::vector<Cell>& cells, const Band& band,
                            const std::vector<std::size_t>& width, Style style) const {
  std::string text(band.indent, ' ');
  std::size_t before = band.indent;  // the last cell, the only one that may be too wide
  for (std::size_t c = band.begin; c + 1 < band.end; ++c) before += width[c] + 2;
  std::vector<std::string> rest;
  for (std::size_t c = band.begin; c < band.end; ++c) {
    std::vector<std::string> pieces = wrapped(cells[c].text, width[c]);
    const std::string blanks(width[c] - display_width(pieces.front()), ' ');
    const std::string shown = inked(pieces.front(), cells[c].ink, style);
    text += columns_[c].align == Align::right ? blanks + shown : shown + blanks;
    if (c + 1 < band.end) text += "  ";
    if (pieces.size() > 1) rest.assign(pieces.begin() + 1, pieces.end());
  }
  text = trimmed(std::move(text)) + "\n";
  for (const std::string& piece : rest)
    text += std::string(before, ' ') + inked(piece, cells[band.end - 1].ink, style) + "\n";
  return text;
}

std::string TextTable::render(Style style, std::size_t indent) const {
  std::vector<std::size_t> width = widths();
  const std::size_t room = style.columns == 0 ? std::numeric_limits<std::size_t>::max()
                                              : std::max(style.columns, kLeastTable) - indent;
  const std::vector<Band> lines = bands(width, room);
  std::string text;
  const auto add = [&](const std::vector<Cell>& cells) {
    for (const Band& band : lines) {
      const std::string part = line(cells, band, width, style);
      if (band.begin == 0 || part != "\n") text += indented(part, indent);
    }
  };
  std::vector<Cell> header;
  for (const Column& column : columns_) header.emplace_back(column.header, Ink::dim);
  add(header);
  for (const auto& row : rows_) add(row);
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
