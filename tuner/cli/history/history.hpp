// The history that the nightly check judges, wherever it comes from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::cli {

struct NightlyHistory {
  std::vector<nightly::Series> series;
  std::int64_t nights = 0;  // of all series together
  // Night::index by id and by label (the last night that has it), of the database alone.
  std::map<std::string, std::int64_t> index_of_run, index_of_label;
  std::vector<std::string> notes;  // what was passed over, one line each
};

}  // namespace nsa::cli
