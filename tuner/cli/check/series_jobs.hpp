// What the series of the results database say to run, so that it can be measured again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nsa/store/store.hpp"
#include "nsa/tuner/side_by_side.hpp"

namespace nsa::cli {

/// A series as it was measured last.
struct SeriesJob {
  tuner::FreshJob job;
  std::string executor;
  Device device;         // as it was then
  std::string build_id;  // of the run
};

/// By the name of the series; those of which the database has no row with a time are left out.
std::map<std::string, SeriesJob> series_jobs(const store::Store& db,
                                             const std::vector<std::string>& names);

}  // namespace nsa::cli
