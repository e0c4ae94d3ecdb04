// Processes that a worker has left behind: known by a variable that all its descendants inherit,
// also those that left its group (setsid). One that starts with an environment of its own is not
// found.
#pragma once

#include <string>

namespace nsa::tuner {

/// Of the variable: each worker has a value of its own.
inline constexpr const char* kWorkerMark = "NSATUNE_WORKER_MARK";

/// Kills every process of this user whose environment has that entry ("NAME=value"), again until
/// there is none, for processes start others meanwhile. Only calls that are safe after a fork.
void kill_marked(const char* entry) noexcept;

}  // namespace nsa::tuner
