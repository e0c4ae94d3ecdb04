// Our worker: the other end of the worker protocol, on top of the table of variants.
#pragma once

#include <string>

namespace nsa::tuner {

struct ServeOptions {
  /// Wall time for the fp64 oracle per verify request. All output elements are looked at for poison
  /// and non-finite numbers, and all rows are compared with those of the variants that are prepared
  /// for the same inputs; rows in doubt come first, then rows in an order that spreads over the
  /// output until the time is spent. The parent checks rows of its own choice besides.
  double oracle_budget_s = 0.05;
};

/// Speaks the protocol on two file descriptors until `bye` or the end of the input. `device`: the
/// only one that hello may ask for; empty = any. Returns an exit code. Throws nothing.
int serve(int in_fd, int out_fd, const std::string& device, const ServeOptions& options = {});
/// The same on stdin and stdout; whatever else the process prints goes to stderr, and SIGUSR1
/// prints the stage and a backtrace there.
int serve_stdio(const std::string& device, const ServeOptions& options = {});

}  // namespace nsa::tuner
