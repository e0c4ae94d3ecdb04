// The cells of a measurement in the CSV export, made from the lists of fields (nsa/schemas/fields).
#pragma once

#include <string>
#include <vector>

#include "nsa/reports/export.hpp"

namespace nsa::reports {

struct CsvCell {
  std::string column, text;  // text is empty where the value is absent
};
/// The cells of a row, the same columns for every row; the last ones are what its run says, empty
/// without one.
std::vector<CsvCell> cells_of(const Measurement& row, const Run* run);

}  // namespace nsa::reports
