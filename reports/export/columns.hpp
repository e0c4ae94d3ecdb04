// The columns of the CSV export of measurements.
#pragma once

#include <span>
#include <string>

#include "nsa/reports/export.hpp"

namespace nsa::reports {

struct Column {
  CsvColumn column;
  std::string (*cell)(const Measurement&);
};
std::span<const Column> csv_columns();

/// What a row's run says; the columns after those of the row.
struct RunColumn {
  CsvColumn column;
  std::string (*cell)(const Measurement&, const Run&);
};
std::span<const RunColumn> csv_run_columns();

}  // namespace nsa::reports
