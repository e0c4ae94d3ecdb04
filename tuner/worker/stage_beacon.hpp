// What the worker is doing, told when somebody sends SIGUSR1: the parent does before it kills a
// worker that hangs.
#pragma once

#include <string_view>

namespace nsa::tuner {

/// Remembers a text (cut at 250 bytes) for the handler; no allocation.
void set_beacon(std::string_view doing) noexcept;
/// SIGUSR1 writes the text and a backtrace of the thread that gets it to stderr, and goes on.
void install_beacon();

}  // namespace nsa::tuner
