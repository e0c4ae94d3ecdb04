// CSV as Apache Otava reads it: a line for each run, a column with its time, a column for each
// series, whose values are medians in ms.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "csv.hpp"
#include "foreign.hpp"
#include "formats.hpp"
#include "group.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/text/spreadsheet.hpp"
#include "own.hpp"
#include "settings_text.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

constexpr const char* kStatistic = "one sample: the median of the run's visits";
constexpr const char* kMissing = "nan";  // Otava takes no empty cell
const CsvLine kAttributes{"time", "run", "executor", "device", "device_uuid"};

std::string uuid_of(const Measurement& row) {
  return row.placement.empty() ? "" : row.placement[0].device_uuid;
}

std::string name_of(const Results& results, const std::string& uuid) {
  for (const Device& device : results.devices) {
    if (device.uuid == uuid) return device.name;
  }
  return "";
}

std::string series_name(const Measurement& row) {
  return stages_text(row.variant) + "/" + name_text(row.variant) + " " + settings_text(row);
}

/// One line of the file: a run of an executor on a device.
struct Night {
  CsvLine attributes;
  std::map<std::string, std::vector<double>> series;  // medians in ns
};

std::vector<Night> nights_of(const Results& results) {
  std::map<CsvLine, Night> found;
  for (const Measurement& row : results.rows) {
    if (!counts(row) || row.held_out) continue;  // the format cannot say it
    const std::string uuid = uuid_of(row);
    Night& night = found[{row.run_id, row.executor, uuid}];
    if (night.attributes.empty())
      night.attributes = {row.measured_at, row.run_id, row.executor, name_of(results, uuid), uuid};
    night.attributes[0] = std::min(night.attributes[0], row.measured_at);
    night.series[series_name(row)].push_back(*row.median_ns);
  }
  std::vector<Night> nights;
  for (auto& [key, night] : found) nights.push_back(std::move(night));
  std::sort(nights.begin(), nights.end(),
            [](const Night& a, const Night& b) { return a.attributes < b.attributes; });
  return nights;
}

std::string cell_of(const Night& night, const std::string& series) {
  const auto at = night.series.find(series);
  if (at == night.series.end()) return kMissing;
  // Whole nanoseconds, so that what is read again is what was written.
  return fmt::format("{:.6f}", std::nearbyint(median(at->second)) / kMillisecond);
}

bool is_own(const CsvTable& table) {
  return table.header().size() >= kAttributes.size() &&
         std::equal(kAttributes.begin(), kAttributes.end(), table.header().begin());
}

/// Of a file that write_otava() wrote.
std::string own_cell(const CsvTable& table, std::size_t line, const char* column) {
  return without_guard(table.cell(line, column));
}

Device device_of_line(const CsvTable& table, std::size_t line, Timer timer) {
  const std::string uuid = own_cell(table, line, "device_uuid");
  Device device = named_device(own_cell(table, line, "device"), backend_of(uuid, timer));
  if (!uuid.empty()) device.uuid = uuid;
  return device;
}

/// A row, and its device as far as the file knows it.
std::pair<Measurement, Device> own_row(const CsvTable& table, std::size_t line,
                                       const std::string& column) {
  const std::string where = table.at(line), series = without_guard(column);
  const std::int64_t ns = nanoseconds(table.number(line, column), kMillisecond, where);
  Record record{.statistic = kStatistic};
  record.device_ns = {ns};
  record.measured_at = own_cell(table, line, "time");
  Measurement row = measured_row(record, {own_cell(table, line, "executor"), "", {}}, {});
  row.run_id = own_cell(table, line, "run");
  const std::size_t space = series.find(' ');
  if (space == std::string::npos) throw InputError(where + ": a series without its problem");
  row.variant = parse_variant_id(series.substr(0, space));
  set_settings(row, series.substr(space + 1), where);
  Device device = device_of_line(table, line, row.timer);
  row.placement = {{"", device.uuid}};
  return {std::move(row), std::move(device)};
}

Imported own_rows(const CsvTable& table, const std::string& where) {
  Imported imported;
  for (std::size_t line = 0; line < table.rows(); ++line) {
    for (std::size_t i = kAttributes.size(); i < table.header().size(); ++i) {
      const std::string cell = table.cell(line, table.header()[i]);
      if (cell.empty() || cell == kMissing) continue;
      auto [row, device] = own_row(table, line, table.header()[i]);
      imported.rows.push_back(std::move(row));
      if (std::ranges::find(imported.devices, device.uuid, &Device::uuid) == imported.devices.end())
        imported.devices.push_back(std::move(device));
    }
  }
  if (imported.rows.empty()) throw InputError(where + ": holds no result");
  return imported;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// What other programs write where there is no result.
bool is_missing(const std::string& text) {
  constexpr std::array<std::string_view, 7> kWords{"", "-", "nan", "na", "n/a", "null", "none"};
  return std::ranges::find(kWords, lower(text)) != kWords.end();
}

/// Columns of attributes: commits may look like numbers, "8317052" or "8317e52".
bool is_attribute(const std::string& column) {
  constexpr std::array<std::string_view, 6> kNames{"commit", "branch", "version",
                                                   "run",    "build",  "revision"};
  return std::ranges::find(kNames, lower(column)) != kNames.end();
}

bool is_number(const std::string& text) {
  try {
    parse_number(text, "");
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Whether all that a column holds are numbers, and there are any.
bool holds_numbers(const CsvTable& table, const std::string& column) {
  bool any = false;
  for (std::size_t line = 0; line < table.rows(); ++line) {
    const std::string cell = table.cell(line, column);
    if (is_missing(cell)) continue;
    if (!is_number(cell)) return false;
    any = true;
  }
  return any;
}

/// The columns that may hold results: all but the first, which is the time, those that the mapping
/// names and those of attributes. InputError where none is left.
CsvLine series_columns(const CsvTable& table, const Mapping& mapping, const std::string& where) {
  CsvLine series;
  for (std::size_t i = 1; i < table.header().size(); ++i) {
    const std::string& column = table.header()[i];
    const bool named = std::any_of(mapping.axes.begin(), mapping.axes.end(),
                                   [&](const auto& axis) { return axis.second == column; });
    if (!named && !is_attribute(column)) series.push_back(column);
  }
  if (series.empty())
    throw InputError(fmt::format(
        "{}: has no column of results: the first, '{}', is taken as the time{}; add a column of "
        "times in ms for each series",
        where, table.header()[0].substr(0, 40),
        table.header().size() > 1 ? ", and --axis names all others" : ""));
  return series;
}

/// A record for each number of a series.
std::vector<Record> foreign_records(const CsvTable& table, const Mapping& mapping,
                                    const std::string& where) {
  std::vector<Record> records;
  const CsvLine all_series = series_columns(table, mapping, where);
  CsvLine of_numbers;
  std::ranges::copy_if(all_series, std::back_inserter(of_numbers),
                       [&](const std::string& series) { return holds_numbers(table, series); });
  for (std::size_t line = 0; line < table.rows(); ++line) {
    for (const std::string& series : of_numbers) {
      if (is_missing(table.cell(line, series))) continue;
      Record record{.subject = series,
                    .statistic = "one sample: a point of the series, taken as ms"};
      record.measured_at = table.cell(line, table.header()[0]);
      for (const auto& [axis, column] : mapping.axes)
        record.params.emplace_back(column, table.cell(line, column));
      record.device_ns = {nanoseconds(table.number(line, series), kMillisecond,
                                      table.at(line) + ", " + visible(series))};
      records.push_back(std::move(record));
    }
  }
  if (records.empty())
    throw InputError(where + (table.rows() == 0
                                  ? ": has no line after its header; add one for each run"
                                  : ": has no number in its columns of results; otava expects "
                                    "times in ms"));
  return records;
}

}  // namespace

Bundle write_otava(const Results& results, const std::string&) {
  const std::vector<Night> nights = nights_of(results);
  CsvLine header = kAttributes;
  std::map<std::string, bool> series;
  for (const Night& night : nights) {
    for (const auto& [name, medians] : night.series) series[name] = true;
  }
  for (const auto& [name, known] : series) header.push_back(name);
  std::string text = csv_line(header);
  for (const Night& night : nights) {
    CsvLine line = night.attributes;
    for (const auto& [name, known] : series) line.push_back(cell_of(night, name));
    text += csv_line(line);
  }
  return {text, {}};
}

Imported read_otava(const Input& input) {
  const CsvTable table(input.text, input.where);
  if (is_own(table)) return own_rows(table, input.where);
  return rows_of_records(foreign_records(table, input.mapping, input.where),
                         {"otava", "", Backend::cuda}, input);
}

}  // namespace nsa::exchange
