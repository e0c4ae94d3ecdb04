#include "selection.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "nsa/reports/export.hpp"
#include "nsa/schemas/error.hpp"
#include "sweep/options.hpp"

namespace nsa::cli {
namespace {

std::int64_t whole(const char* flag, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw InputError(std::string(flag) + ": \"" + text + "\" is not a whole number");
  return value;
}

std::int64_t nanoseconds(const std::string& text) {
  static const std::map<std::string, double> kUnits{
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const auto unit = kUnits.find(digits == text.npos ? "" : text.substr(digits));
  double value = 0;
  const char* end = text.data() + (digits == text.npos ? text.size() : digits);
  const auto read = std::from_chars(text.data(), end, value);
  if (unit == kUnits.end() || read.ec != std::errc() || read.ptr != end ||
      value * unit->second > 9e18)
    throw InputError("--time: \"" + text + "\" is not a time such as 10ms, 250us or 1.5s");
  return std::llround(value * unit->second);
}

/// "a-b"; of a single value both are it. `example` is what the flag takes.
std::pair<std::string, std::string> bounds(const char* flag, const std::string& text,
                                           const char* example) {
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return {text, text};
  const std::string from = text.substr(0, dash), to = text.substr(dash + 1);
  if (from.empty() || to.empty())
    throw InputError(std::string(flag) + ": \"" + text + "\" has no " +
                     (from.empty() ? "beginning" : "end") + "; give both, as in " + example);
  return {from, to};
}

template <class Value>
std::pair<Value, Value> in_order(const char* flag, Value from, Value to) {
  if (from > to) throw InputError(std::string(flag) + ": ends before it begins");
  return {from, to};
}

using Row = std::vector<std::pair<std::string, std::string>>;

void add_cells(const Json& value, const std::string& name, Row& out) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_cells(inner, name.empty() ? key : name + "." + key, out);
    return;
  }
  out.emplace_back(name, value.is_null()     ? ""
                         : value.is_string() ? value.get<std::string>()
                                             : value.dump());
}

/// Lists of objects, those of `gaps` as "gaps.longest".
std::map<std::string, const Json*> lists_in(const Json& document) {
  std::map<std::string, const Json*> lists;
  for (const auto& [key, value] : document.items()) {
    if (value.is_array()) lists[key] = &value;
    if (!value.is_object()) continue;
    for (const auto& [inner, list] : value.items())
      if (list.is_array()) lists[key + "." + inner] = &list;
  }
  return lists;
}

std::string line_of(const Row& row, const std::vector<std::string>& columns) {
  const std::map<std::string, std::string> cells(row.begin(), row.end());
  std::string line;
  for (const std::string& column : columns) {
    const auto cell = cells.find(column);
    if (&column != &columns.front()) line += ',';
    if (cell != cells.end()) line += reports::csv_cell(cell->second);
  }
  return line + "\n";
}

}  // namespace

trace::Filter filter_of(const Selection& selection) {
  trace::Filter filter;
  if (!selection.steps.empty()) {
    const auto [from, to] = bounds("--step", selection.steps, "3-7");
    filter.steps = in_order("--step", whole("--step", from), whole("--step", to));
  }
  if (!selection.time.empty()) {
    const auto [from, to] = bounds("--time", selection.time, "10ms-1.5s");
    filter.time_ns = in_order("--time", nanoseconds(from), nanoseconds(to));
  }
  if (!selection.stream.empty()) filter.stream = whole("--stream", selection.stream);
  filter.name = selection.name;
  return filter;
}

std::string csv_of(const Json& document, const std::string& table) {
  const auto lists = lists_in(document);
  const auto found = lists.find(table);
  if (found == lists.end()) {
    std::string names;
    for (const auto& [name, list] : lists) names += (names.empty() ? "" : ", ") + name;
    throw InputError("--csv: no table \"" + table + "\" in this summary; there are " + names);
  }
  std::vector<Row> rows;
  std::vector<std::string> columns;
  for (const Json& value : *found->second) {
    add_cells(value, "", rows.emplace_back());
    for (const auto& [name, text] : rows.back())
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  Row header;
  for (const std::string& column : columns) header.emplace_back(column, column);
  std::string csv = line_of(header, columns);
  for (const Row& row : rows) csv += line_of(row, columns);
  return csv;
}

}  // namespace nsa::cli
