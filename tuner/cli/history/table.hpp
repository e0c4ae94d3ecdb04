// A CSV file as rows that have a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_reader.hpp"

namespace nsa::cli {

/// A file as rows of trimmed texts, each as long as the header; the first column is the time.
struct NightTable {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRecord> rows;

  /// InputError "<path>:<line>: <what>".
  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const;
  std::optional<std::size_t> column(std::string_view name) const;
  /// The text there, or "" where there is no such column.
  std::string cell(std::size_t row, std::optional<std::size_t> column) const;
};

/// InputError "<path>:<line>: ..." where the file has no header, a name twice or a row of another
/// length.
NightTable read_night_table(const std::string& path);
/// The first row of each night: consecutive rows with one time are one night. InputError where a
/// time is none, or is before that of the row above.
std::vector<std::size_t> first_rows_of_nights(const NightTable& table);

}  // namespace nsa::cli
