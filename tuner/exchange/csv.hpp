// Comma-separated values, RFC 4180.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nsa::exchange {

using CsvLine = std::vector<std::string>;

/// All lines that are not empty, without a byte order mark before them; quoted cells may hold
/// commas, quotes and line breaks. InputError on a quote that is never closed, a NUL, or bytes that
/// are no UTF-8.
std::vector<CsvLine> read_csv(std::string_view text, const std::string& where);
/// The same of a table: its first line names the columns. InputError also where there is no line,
/// or one has not a cell for each column, as where a file was cut.
std::vector<CsvLine> read_csv_table(std::string_view text, const std::string& where);
/// One line with its line break. No cell of it is a formula (with_guard()); who reads what was
/// written so asks without_guard().
std::string csv_line(const CsvLine& cells);
/// Bytes that may stand in a database and on a terminal's line: InputError otherwise.
void require_text(std::string_view text, const std::string& where);

/// A table by the names in its first line.
class CsvTable {
 public:
  CsvTable(std::string_view text, const std::string& where);
  std::size_t rows() const { return lines_.size() - 1; }
  const CsvLine& header() const { return lines_.front(); }
  bool has(std::string_view column) const;
  /// InputError where the column is missing.
  std::string cell(std::size_t row, std::string_view column) const;
  double number(std::size_t row, std::string_view column) const;
  /// "file.csv: row 3", as messages begin.
  std::string at(std::size_t row) const { return where_ + ": row " + std::to_string(row + 1); }

 private:
  std::string where_;
  std::vector<CsvLine> lines_;
};

}  // namespace nsa::exchange
