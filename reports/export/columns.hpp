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

}  // namespace nsa::reports
