// Signals that the program ignores, and what a program that it starts gets instead: exec keeps what
// is ignored.
#pragma once

namespace nsa::tuner {

/// Writes that cannot be done fail instead of ending the program: no SIGPIPE where a reader died,
/// no SIGXFSZ where a file met its limit (ulimit -f).
void ignore_failed_writes() noexcept;

/// Between fork and exec: undoes ignore_failed_writes() and leaves the others as they are. Safe in
/// a signal handler.
void end_on_failed_writes() noexcept;

/// Between fork and exec of a program that is to end when we say so: that, and the signals which
/// end it or ask it what it does, whatever we inherited. Safe in a signal handler.
void reset_signals() noexcept;

}  // namespace nsa::tuner
