// Ctrl-C and kill: a flag that the sweep looks at between two visits.
#pragma once

#include <atomic>

#include "nsa/schemas/error.hpp"

namespace nsa::cli {

/// Of a command that a signal stopped before its end: 128 + SIGINT, as shells have it.
inline constexpr ExitCode kStopped{130};

/// SIGINT and SIGTERM set the flag from now on; a second SIGINT, more than a quarter of a second
/// after the first, ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace nsa::cli
