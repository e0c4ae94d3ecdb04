// Many results databases into one: many machines, many models of device.
#pragma once

#include <cstdint>
#include <functional>
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

/// How long a file that another process holds is waited for. A writer of ours holds a database for
/// milliseconds; whoever holds it longer than this keeps it.
inline constexpr double kLongestWaitForFile_s = 10;

/// Adds the rows of all `files` to the database `out`, which is made when there is none. The result
/// is the union of the rows by their ids, whatever the order and the grouping, and a second time
/// changes nothing. A run that has ended in one of the files has ended in the result, at its last
/// end; a run that is open everywhere stays open.
///
/// The files are read as they are now and stay as they are, those of an older version too.
/// InputError with one line, and nothing is added, when a file is missing, damaged, locked, of
/// another program or of a newer version, or when two files contradict each other: another content
/// under one id, or a run that went on in both of them. EnvironmentError as in Store::open for
/// `out`. A new `out` appears whole or not at all.
/// @param options     how `out` is opened
/// @param options_of  how each of the files is; empty: as `out`, but waited for in silence, and
///                    for kLongestWaitForFile_s at most
MergeReport merge(const std::vector<std::string>& files, const std::string& out,
                  const OpenOptions& options = {},
                  const std::function<OpenOptions(const std::string& file)>& options_of = {});

}  // namespace nsa::store
