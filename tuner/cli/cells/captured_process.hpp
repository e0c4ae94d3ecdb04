// A program that is run to its end, and what it wrote.
#pragma once

#include <string>
#include <vector>

#include "nsa/probes/injection.hpp"

namespace nsa::cli {

struct Captured {
  int exit_code = -1;  // 128 + the signal that ended it
  bool timed_out = false;
  std::string out, err;
};

/// Runs argv[0] in a group of its own, with `variables` beside ours, and ends the group after
/// `timeout_s` seconds. It ends with us. EnvironmentError when it cannot be started.
Captured run_captured(const std::vector<std::string>& argv, const probes::Variables& variables,
                      double timeout_s);

}  // namespace nsa::cli
