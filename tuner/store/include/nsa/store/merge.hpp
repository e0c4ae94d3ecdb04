// Many results databases into one: many machines, many models of device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/store/store.hpp"

namespace nsa::store {

/// How many of each kind.
struct RowCounts {
  std::int64_t runs = 0, measurements = 0, launch_traces = 0, launch_counters = 0, telemetry = 0,
               run_results = 0;
  bool operator==(const RowCounts&) const = default;
};

/// What one of the files holds.
struct MergedFile {
  std::string path;
  RowCounts rows;
};

struct MergeReport {
  std::string path;      // of the database that took it all
  bool created = false;  // it is new
  std::vector<MergedFile> files;
  RowCounts added;  // what it did not have
  RowCounts total;  // what it has now
};

/// Adds the rows of all `files` to the database `out`, which is made when there is none. The result
/// is the union of the rows by their ids, whatever the order and the grouping, and a second time
/// changes nothing. A run that has ended in one of the files has ended in the result, at its last
/// end; a run that is open everywhere stays open.
///
/// The files are read as they are now and stay as they are, those of an older version too.
/// InputError with one line, and nothing is added, when a file is missing, damaged, locked, of
/// another program or of a newer version, or when two files contradict each other: another content
/// under one id, or a run that went on in both of them. EnvironmentError as in Store::open for
/// `out`, and `options.keep_waiting` is asked of `out` alone. A new `out` appears whole or not at
/// all.
MergeReport merge(const std::vector<std::string>& files, const std::string& out,
                  const OpenOptions& options = {});

}  // namespace nsa::store
