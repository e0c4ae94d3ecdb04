// A process and all that it started, by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

namespace nsa::cli {

struct TreeReading {
  double cpu_seconds = 0;  // since the reading before
  double rss_bytes = 0;
};

class ProcessTree {
 public:
  explicit ProcessTree(pid_t root) : root_(root) {}
  /// Children, their children, and the process group of the root.
  TreeReading read();

 private:
  pid_t root_;
  std::map<pid_t, double> cpu_seconds_;  // of each process at the reading before
};

}  // namespace nsa::cli
