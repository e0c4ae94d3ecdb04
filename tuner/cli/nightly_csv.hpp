// The history of other people's benchmarks: a CSV file with a column for each series.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::cli {

/// What a file holds.
struct NightlyHistory {
  std::vector<nightly::Series> series;
  std::int64_t nights = 0;                           // of all series together
  std::map<std::string, std::int64_t> index_of_run;  // Night::index by id, of the database alone
  std::vector<std::string> notes;                    // what was passed over, one line each
};

/// The first column is the time, every other column with a number in it a series; consecutive rows
/// with the same time are replicates of one night. Columns called commit, environment and binary
/// say so of their row and are no series, nor is a column without any number. `nan` and an empty
/// cell are missing. InputError "<path>:<line>: ..." on anything else.
NightlyHistory read_nightly_csv(const std::string& path);

}  // namespace nsa::cli
