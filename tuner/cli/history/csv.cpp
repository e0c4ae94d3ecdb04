#include "csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/output_path.hpp"
#include "table.hpp"

namespace nsa::cli {
namespace {

/// Columns that say something of their row, whatever they hold: a commit may look like a number.
constexpr std::array<std::string_view, 6> kAttributes{"commit", "environment", "binary",
                                                      "device", "branch",      "executor"};
/// Of these a file may hold one only: values of two machines are no history.
constexpr std::array<std::string_view, 3> kFixed{"device", "branch", "executor"};

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a cell of a series says.
struct Cell {
  enum class Kind { number, missing, text } kind = Kind::missing;
  double value = 0;
};

Cell cell_of(std::string_view text) {
  if (text.empty() || text == "nan" || text == "NaN" || text == "NAN") return {};
  if (text.starts_with('+')) text.remove_prefix(1);
  Cell cell{Cell::Kind::number};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, cell.value);
  const bool number = error == std::errc{} && rest == end && std::isfinite(cell.value);
  return number ? cell : Cell{Cell::Kind::text};
}

/// Columns with a number; InputError where one has a text, too.
std::vector<std::size_t> series_columns(const NightTable& table) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 1; i < table.header.size(); ++i) {
    if (is_one_of(kAttributes, table.header[i])) continue;
    bool has_number = false;
    const CsvRecord* text = nullptr;
    for (const CsvRecord& row : table.rows) {
      const Cell::Kind kind = cell_of(row.cells[i]).kind;
      has_number = has_number || kind == Cell::Kind::number;
      if (kind == Cell::Kind::text && !text) text = &row;
    }
    if (has_number && text)
      table.refuse(text->line, fmt::format("'{:.60}' in column '{}' is not a finite number",
                                           text->cells[i], table.header[i]));
    if (has_number) columns.push_back(i);
  }
  return columns;
}

void check_fixed(const NightTable& table) {
  for (const std::string_view name : kFixed) {
    const auto at = table.column(name);
    if (!at) continue;
    for (const CsvRecord& row : table.rows) {
      if (row.cells[*at] != table.rows[0].cells[*at])
        table.refuse(row.line, fmt::format("column '{}' changes from '{}' to '{}'; put each into a "
                                           "file of its own",
                                           name, table.rows[0].cells[*at], row.cells[*at]));
    }
  }
}

/// The nights of the file, without values.
std::vector<nightly::Night> empty_nights(const NightTable& table,
                                         const std::vector<std::size_t>& first) {
  const auto environment = table.column("environment"), binary = table.column("binary"),
             commit = table.column("commit");
  std::vector<nightly::Night> nights;
  for (const std::size_t row : first) {
    nightly::Night night;
    night.index = static_cast<std::int64_t>(row);
    night.time = table.rows[row].cells[0];
    night.environment = table.cell(row, environment);
    night.binary = table.cell(row, binary);
    night.commit = table.cell(row, commit);
    nights.push_back(std::move(night));
  }
  return nights;
}

nightly::Series series_of(const NightTable& table, std::size_t column,
                          std::vector<nightly::Night> nights) {
  nightly::Series series;
  series.name = table.header[column];
  series.variant = series.name;
  // Empty without such a column: nobody knows then which of the series share a machine.
  series.device = table.cell(0, table.column("device"));
  series.canary = series.name == "canary";
  series.nights = std::move(nights);
  for (std::size_t n = 0; n < series.nights.size(); ++n) {
    const bool last = n + 1 == series.nights.size();
    const std::size_t end =
        last ? table.rows.size() : static_cast<std::size_t>(series.nights[n + 1].index);
    for (auto row = static_cast<std::size_t>(series.nights[n].index); row < end; ++row) {
      const Cell cell = cell_of(table.rows[row].cells[column]);
      if (cell.kind == Cell::Kind::number) series.nights[n].values.push_back(cell.value);
    }
  }
  return series;
}

}  // namespace

NightlyHistory read_nightly_csv(const std::string& path) {
  if (is_database(path)) throw InputError(path + ": is a database; name it with --db, not --csv");
  const NightTable table = read_night_table(path);
  const std::vector<nightly::Night> nights = empty_nights(table, first_rows_of_nights(table));
  const std::vector<std::size_t> columns = series_columns(table);
  if (columns.empty() && !table.rows.empty())
    table.refuse(table.rows[0].line, "no column has a number; there is nothing to judge");
  check_fixed(table);
  NightlyHistory history;
  history.nights = static_cast<std::int64_t>(nights.size());
  for (const std::size_t column : columns)
    history.series.push_back(series_of(table, column, nights));
  for (std::size_t i = 1; i < table.header.size(); ++i) {
    const bool known = is_one_of(kAttributes, table.header[i]) ||
                       std::find(columns.begin(), columns.end(), i) != columns.end();
    if (!known) history.notes.push_back(table.header[i] + ": a column without a number, no series");
  }
  return history;
}

}  // namespace nsa::cli
