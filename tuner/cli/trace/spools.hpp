// After the program: every spool that its processes left becomes a trace.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nsa/trace/summary.hpp"

namespace nsa::cli {

/// One process.
struct RecordedProcess {
  std::string path;  // of the trace; empty: it could not be read
  trace::RecordingRow row;
  std::uint64_t gpu_operations = 0, gpu_ranges = 0;
  std::string failure;  // why it could not be read
};

struct Recorded {
  std::vector<RecordedProcess> processes;
  std::optional<std::string> merged;    // path of the view of all
  std::optional<trace::Clocks> clocks;  // how it came to one time line
  std::string merge_failure;
};

/// Names of the spools in a folder.
std::set<std::string> spools_in(const std::string& folder);
/// Turns those that are not in `before`, nor of another recorder, into traces beside them, and
/// several into one view too. `keep`: the spools stay, as those do that a process still writes.
Recorded convert_spools(const std::string& folder, const std::set<std::string>& before,
                        std::uint64_t recorder, bool keep);

/// One line: what was recorded, and what is missing.
std::string line_of(const RecordedProcess& process);

}  // namespace nsa::cli
