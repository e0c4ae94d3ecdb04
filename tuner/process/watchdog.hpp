// A process that outlives us only to end our worker: PR_SET_PDEATHSIG reaches the child alone, not
// what a shell or a launcher has started after it.
#pragma once

#include <sys/types.h>

#include <string>

namespace nsa::tuner {

/// Kills the group `group` and the processes with that mark (kill_marked) when this process is
/// gone, however it ended. In a session of its own, so that a Ctrl-C does not end it first. Lets
/// them be once it is destroyed.
class Watchdog {
 public:
  /// Where no process can be made there is none, and nothing is said: it is the second line.
  Watchdog(pid_t group, const std::string& mark);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  pid_t pid_ = -1;
  int alive_ = -1;  // end of a pipe that closes with us
};

}  // namespace nsa::tuner
