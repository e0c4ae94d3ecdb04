#include <fmt/format.h>

#include <charconv>
#include <map>

#include "columns.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

constexpr CsvColumn kSampleColumns[] = {
    {"measurement_id", "UUID of the row"},
    {"sample", "place in the row, from 0"},
    {"start_ns", "CLOCK_MONOTONIC at the launch call, ns"},
    {"device_ns", "time by the timer of the row, ns"},
    {"host_ns", "from the launch call to its end as the host sees it, ns"},
    {"cycles", "device cycles around the sample"},
};

std::string table_of(const std::vector<CsvColumn>& columns) {
  TextTable table;
  table.add_column("column");
  table.add_column("meaning");
  for (const CsvColumn& c : columns) {
    table.add_row({"`" + std::string(c.name) + "`", std::string(c.meaning)});
  }
  return table.markdown();
}

/// A spreadsheet runs what begins like this, unless it is a number.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos)
    return false;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc() || end != text.data() + text.size();
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell(text);
  if (is_formula(text)) cell.insert(0, 1, '\'');
  if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::vector<CsvColumn> measurement_columns() {
  std::vector<CsvColumn> columns;
  for (const Column& column : csv_columns()) columns.push_back(column.column);
  for (const RunColumn& column : csv_run_columns()) columns.push_back(column.column);
  return columns;
}

std::vector<CsvColumn> sample_columns() {
  return {std::begin(kSampleColumns), std::end(kSampleColumns)};
}

std::string columns_markdown() {
  return "## Measurements\n\n" + table_of(measurement_columns()) + "\n## Samples\n\n" +
         table_of(sample_columns());
}

std::string measurements_csv(const std::vector<Measurement>& rows, std::span<const Run> runs) {
  std::map<std::string_view, const Run*> by_id;
  for (const Run& run : runs) by_id[run.id] = &run;
  std::string csv;
  for (const CsvColumn& column : measurement_columns()) {
    csv.append(csv.empty() ? "" : ",").append(column.name);
  }
  csv += '\n';
  for (const Measurement& row : rows) {
    bool first = true;
    for (const Column& column : csv_columns()) {
      csv.append(first ? "" : ",").append(csv_cell(column.cell(row)));
      first = false;
    }
    const auto run = by_id.find(row.run_id);
    for (const RunColumn& column : csv_run_columns())
      csv.append(",").append(run == by_id.end() ? "" : csv_cell(column.cell(row, *run->second)));
    csv += '\n';
  }
  return csv;
}

std::string samples_csv(const std::vector<Measurement>& rows) {
  std::string csv;
  for (const CsvColumn& column : kSampleColumns) {
    csv.append(csv.empty() ? "" : ",").append(column.name);
  }
  csv += '\n';
  for (const Measurement& row : rows) {
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      const Sample& s = row.samples[i];
      csv += fmt::format("{},{},{},{},{},{}\n", csv_cell(row.id), i, s.start_ns, s.device_ns,
                         s.host_ns, s.cycles ? std::to_string(*s.cycles) : std::string());
    }
  }
  return csv;
}

}  // namespace nsa::reports
