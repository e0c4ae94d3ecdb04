// Where the processes of a hung worker stand, before it is killed.
#pragma once

#include <string>

#include "process/child.hpp"

namespace nsa::tuner {

/// One line: state, kernel wait channel and kernel stack of each process of the group, and the host
/// backtrace of those that answer SIGUSR1 with one (ours do, and Python's faulthandler can).
std::string hang_report(Child& child);

}  // namespace nsa::tuner
