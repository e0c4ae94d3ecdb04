// Ctrl-C and kill: a flag that the sweep looks at between two visits.
#pragma once

#include <atomic>

namespace nsa::cli {

/// SIGINT and SIGTERM set the flag from now on; a second SIGINT ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace nsa::cli
