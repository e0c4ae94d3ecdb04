// Where viewers draw what: a row is a (pid, tid) of 32 bits each. Slices of one row have to be
// disjoint or nested, so what overlaps gets further rows, and processes that had the same pid on
// different machines get different ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

struct Row {
  std::uint32_t pid = 0, tid = 0;
};

class Rows {
 public:
  explicit Rows(const Trace& trace);

  Row thread(std::uint32_t thread) const { return threads_[thread]; }
  /// A process's own row, for what belongs to no thread.
  std::uint32_t process(std::uint32_t process) const { return processes_[process]; }
  std::uint32_t device(std::uint32_t process, std::int32_t device) const {
    return devices_.at({process, device});
  }
  /// The next row for what does not fit into another one; `name` says whose.
  Row another(std::uint32_t pid, const std::string& name);
  /// The first row of a stream.
  Row stream(std::uint32_t pid, std::int64_t stream);

  struct Named {
    Row row;
    std::string name;
  };
  struct NamedProcess {
    std::uint32_t pid, process;
    std::string name, label;
    std::int64_t sort_index;
  };
  const std::vector<Named>& names() const { return names_; }
  const std::vector<NamedProcess>& process_names() const { return process_names_; }
  const std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t>& devices() const {
    return devices_;
  }

 private:
  void add_processes(const Trace& trace);
  void add_threads(const Trace& trace, const std::vector<std::uint32_t>& process_of);
  void add_devices(const Trace& trace);
  std::uint32_t host_pid(const std::string& text, std::uint32_t process);
  std::uint32_t free_pid(std::uint64_t wanted, std::uint32_t process);
  std::uint32_t free_tid(std::uint32_t pid, std::uint64_t wanted);
  void name_process(const Trace& trace, std::uint32_t pid, std::uint32_t process,
                    const std::string& what, std::int64_t sort_index);

  std::vector<Row> threads_;
  std::vector<std::uint32_t> processes_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> devices_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> host_pids_;
  std::set<std::uint32_t> pids_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> tids_;
  std::map<std::uint32_t, std::uint64_t> further_;  // by pid: the next tid of another()
  std::vector<Named> names_;
  std::vector<NamedProcess> process_names_;
};

/// How many processes a trace holds: one where nobody says.
std::uint32_t process_count(const Trace& trace);

}  // namespace nsa::trace
