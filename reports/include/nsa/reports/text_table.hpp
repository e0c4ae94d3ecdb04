// Aligned columns for a terminal, and the same cells as a Markdown table.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/reports/style.hpp"

namespace nsa::reports {

enum class Align { left, right };
enum class Ink { plain, bold, dim, good, bad, warn };

struct Cell {
  std::string text;
  Ink ink = Ink::plain;
  Cell() = default;
  Cell(std::string of, Ink with = Ink::plain) : text(std::move(of)), ink(with) {}
  Cell(const char* of, Ink with = Ink::plain) : text(of), ink(with) {}
};

/// Columns are as wide as their widest cell; two blanks between them; nothing trails a line. One
/// thread at a time.
class TextTable {
 public:
  /// A column at the right. All columns come before the first row.
  void add_column(std::string header, Align align = Align::left);
  /// One for each header.
  void add_columns(std::initializer_list<const char*> headers, Align align = Align::left);
  /// Missing cells are empty; more cells than columns are a ContractError.
  void add_row(std::vector<Cell> cells);
  /// Whether there is no row.
  bool empty() const noexcept { return rows_.empty(); }
  /// Shortens the last column so that the table is `columns` wide (at least 24 for the column
  /// itself); texts that differ stay different.
  void fit(std::size_t columns);
  /// Header and rows, each line after `indent` blanks. What is wider than `style.columns` goes on
  /// in a line below, further in, and long texts at the end of a line are wrapped.
  std::string render(Style style, std::size_t indent = 0) const;
  /// A Markdown table; `|` in cells is escaped.
  std::string markdown() const;

 private:
  struct Column {
    std::string header;
    Align align;
  };
  /// Columns that share a line.
  struct Band {
    std::size_t begin, end, indent;
  };
  std::vector<std::size_t> widths() const;
  std::vector<Band> bands(std::vector<std::size_t>& width, std::size_t room) const;
  std::string line(const std::vector<Cell>& cells, const Band& band,
                   const std::vector<std::size_t>& width, Style style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Columns that UTF-8 text takes in a terminal: 2 for wide East Asian letters and emoji, 0 for
/// combining marks. A byte that is no UTF-8 counts 1.
std::size_t display_width(std::string_view text);
/// Text of others on one line: control characters and invalid UTF-8 become '?', so that a name can
/// neither move the cursor nor break a table.
std::string printable(std::string_view text);
/// At most `columns` wide; what is cut ends in "...".
std::string shortened(std::string_view text, std::size_t columns);
/// The text in lines of at most `columns`, broken between words where there is a blank.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);
/// Each at most `columns` wide, cut in the middle. Those that would become the same keep the place
/// where they differ.
std::vector<std::string> shortened_apart(std::vector<std::string> texts, std::size_t columns);
/// The text in a colour, or as it is.
std::string inked(std::string_view text, Ink ink, Style style);

}  // namespace nsa::reports
