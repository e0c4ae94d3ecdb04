// The program that is traced: our terminal is its terminal.
#pragma once

#include <string>
#include <vector>

#include "nsa/probes/injection.hpp"

namespace nsa::cli {

struct ChildPlan {
  std::vector<std::string> argv;
  probes::Variables environment;  // beside ours
  bool stdout_to_stderr = false;
};

/// Runs it to its end with our standard streams. Signals that somebody sends us go on to it; what
/// the terminal sends reaches it anyway. Its exit code, or 128 + the signal that ended it.
/// InputError when it cannot be started.
int run_child(const ChildPlan& plan);

}  // namespace nsa::cli
