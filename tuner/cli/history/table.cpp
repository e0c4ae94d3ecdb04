#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "time.hpp"

namespace nsa::cli {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void check_header(const NightTable& table, std::int64_t line) {
  if (parse_night_time(table.header[0]))
    table.refuse(line, "has no header: it begins with a time; name the columns in the first line");
  if (table.header.size() < 2)
    table.refuse(
        line,
        "has one column; a time and at least one series are needed, with commas between them");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const std::string& name = table.header[i];
    if (i > 0 && name.empty()) table.refuse(line, fmt::format("column {} has no name", i + 1));
    if (!seen.insert(name).second) table.refuse(line, fmt::format("two columns are '{}'", name));
  }
}

}  // namespace

void NightTable::refuse(std::int64_t line, const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", path, line, what));
}

std::optional<std::size_t> NightTable::column(std::string_view name) const {
  const auto at = std::find(header.begin(), header.end(), name);
  if (at == header.end()) return std::nullopt;
  return static_cast<std::size_t>(at - header.begin());
}

std::string NightTable::cell(std::size_t row, std::optional<std::size_t> at) const {
  return at ? rows[row].cells[*at] : std::string();
}

NightTable read_night_table(const std::string& path) {
  const std::string text = read_text_file(path);
  CsvReader reader(text, path);
  NightTable table;
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

std::vector<std::size_t> first_rows_of_nights(const NightTable& table) {
  std::vector<std::size_t> first;
  std::optional<NightTime> before;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto& [line, cells] = table.rows[row];
    const auto time = parse_night_time(cells[0]);
    if (!time)
      table.refuse(line, fmt::format("'{:.60}' is not a time; ISO 8601, Unix seconds and plain "
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

}  // namespace nsa::cli
