// The rows of the sweep that the shipped thresholds were decided from, as docs/results keeps them.
#pragma once

#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::test {

/// All rows of docs/results/h200.csv.gz; the median of each is its only sample. Times are in ns,
/// lengths in tokens. What the CSV does not hold (samples one by one, clocks, the job's key) is
/// empty. std::runtime_error where gzip cannot read the file.
std::vector<Measurement> recorded_rows();

}  // namespace nsa::test
