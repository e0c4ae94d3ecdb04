#include <fmt/format.h>

#include <map>

#include "columns.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/schemas/text/spreadsheet.hpp"

namespace nsa::reports {
std::string csv_cell(std::string_view text) {
  std::string cell = with_guard(text);
  if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string measurements_csv(const std::vector<Measurement>& rows, std::span<const Run> runs) {
  std::map<std::string_view, const Run*> by_id;
  for (const Run& run : runs) by_id[run.id] = &run;
  std::string csv;
  const auto add_line = [&](const std::vector<CsvCell>& cells, std::string CsvCell::*part) {
    for (const CsvCell& cell : cells)
      csv.append(&cell == &cells[0] ? "" : ",").append(csv_cell(cell.*part));
    csv += '\n';
  };
  add_line(cells_of({}, nullptr), &CsvCell::column);
  for (const Measurement& row : rows) {
    const auto run = by_id.find(row.run_id);
    add_line(cells_of(row, run == by_id.end() ? nullptr : run->second), &CsvCell::text);
  }
  return csv;
}

std::string samples_csv(const std::vector<Measurement>& rows) {
  std::string csv = "measurement_id,sample,start_ns,device_ns,host_ns,cycles\n";
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
