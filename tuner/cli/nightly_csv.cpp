#include "nightly_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "csv_reader.hpp"
#include "night_time.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

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

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
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

/// A file as rows of trimmed texts, each as long as the header.
struct Table {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRecord> rows;

  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", path, line, what));
  }
  std::optional<std::size_t> column(std::string_view name) const {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end()) return std::nullopt;
    return static_cast<std::size_t>(at - header.begin());
  }
  std::string cell(std::size_t row, std::optional<std::size_t> at) const {
    return at ? rows[row].cells[*at] : std::string();
  }
};

void check_header(const Table& table, std::int64_t line) {
  if (parse_night_time(table.header[0]))
    table.refuse(line, "has no header: it begins with a time; name the columns in the first line");
  if (table.header.size() < 2)
    table.refuse(line, "has one column; a time and at least one series are needed");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const std::string& name = table.header[i];
    if (i > 0 && name.empty()) table.refuse(line, fmt::format("column {} has no name", i + 1));
    if (!seen.insert(name).second) table.refuse(line, fmt::format("two columns are '{}'", name));
  }
}

Table read_table(const std::string& path) {
  const std::string text = read_text_file(path);
  CsvReader reader(text, path);
  Table table;
  table.path = path;
  CsvRecord record;
  const auto next = [&] {
    if (!reader.next(record)) return false;
    for (std::string& cell : record.cells) cell = trimmed(cell);
    return true;
  };
  if (!next()) throw InputError(path + ":1: is empty; the first line names the columns");
  table.header = record.cells;
  check_header(table, record.line);
  while (next()) {
    if (record.cells.size() != table.header.size())
      table.refuse(record.line, fmt::format("has {} cells where the header has {}",
                                            record.cells.size(), table.header.size()));
    table.rows.push_back(std::move(record));
  }
  return table;
}

/// The first row of each night.
std::vector<std::size_t> nights_of(const Table& table) {
  std::vector<std::size_t> first;
  std::optional<NightTime> before;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto& [line, cells] = table.rows[row];
    const auto time = parse_night_time(cells[0]);
    if (!time)
      table.refuse(line, fmt::format("'{:.60}' is no time; ISO 8601, Unix seconds and plain "
                                     "numbers are",
                                     cells[0]));
    if (before && before->calendar != time->calendar)
      table.refuse(line, fmt::format("'{}' is another kind of time than before", cells[0]));
    if (before && time->value < before->value)
      table.refuse(line, fmt::format("the time '{}' is before that of the row above; sort the rows "
                                     "by time",
                                     cells[0]));
    if (!before || time->value > before->value) first.push_back(row);
    before = time;
  }
  return first;
}

/// Columns with a number; InputError where one has a text, too.
std::vector<std::size_t> series_columns(const Table& table) {
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
      table.refuse(text->line, fmt::format("'{:.60}' in column '{}' is no finite number",
                                           text->cells[i], table.header[i]));
    if (has_number) columns.push_back(i);
  }
  return columns;
}

void check_fixed(const Table& table) {
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
std::vector<nightly::Night> empty_nights(const Table& table,
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

nightly::Series series_of(const Table& table, std::size_t column,
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
  const Table table = read_table(path);
  const std::vector<nightly::Night> nights = empty_nights(table, nights_of(table));
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
