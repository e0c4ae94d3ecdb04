// The rows of the sweep that the shipped thresholds were decided from, as docs/results keeps them.
#pragma once

#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::test {

/// All rows of docs/results/h200.csv.gz, as `nsatune import csv` reads them: medians stand in for
/// samples. Times are in ns, lengths in tokens. InputError where the file cannot be read.
std::vector<Measurement> recorded_rows();

}  // namespace nsa::test
