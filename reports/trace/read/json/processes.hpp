// Which process the events of a foreign file are of, where several ranks were merged into one file
// and their correlation ids stand for different launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Events hold numbers of pids; on return operations hold numbers of processes, and the result says
/// which process each pid is of. Empty, and nothing done, where the file holds one process: no two
/// pids with API calls share a correlation id. GPU rows go to the pid whose name begins as theirs
/// ("[TP00] 0"), else to the one whose calls fit: before each operation, and nearest.
struct MergedProcesses {
  std::vector<std::uint32_t> of_pid;
  std::vector<std::string> pids;  // of the processes
};
MergedProcesses part_merged_processes(Trace& trace, const std::vector<std::string>& pid_texts);

}  // namespace nsa::trace
