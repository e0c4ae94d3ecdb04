// The history of other people's benchmarks: a CSV file with a column for each series.
#pragma once

#include <string>

#include "history.hpp"

namespace nsa::cli {

/// The first column is the time, every other column with a number in it a series; consecutive rows
/// with the same time are replicates of one night. Columns called commit, environment and binary
/// say so of their row and are no series, nor is a column without any number. `nan` and an empty
/// cell are missing. InputError "<path>:<line>: ..." on anything else.
NightlyHistory read_nightly_csv(const std::string& path);

}  // namespace nsa::cli
