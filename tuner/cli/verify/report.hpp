// What `verify` says of a thresholds file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nsa/tuner/verify_table.hpp"
#include "program.hpp"

namespace nsa::cli {

struct VerifyOutcome {
  std::string file, run_id;
  tuner::TrialReport report;
  std::vector<std::string> broken;  // why it does not hold, a line each
  std::size_t left_out = 0;         // places that the budget had no room for
  std::size_t undecided = 0;        // ranges of the file that state nothing
  double wall_s = 0;
  ExitCode code = ExitCode::good;
};

/// Prints it, as JSON or for people, and passes its exit code on.
ExitCode tell(const Settings& settings, const VerifyOutcome& outcome);

}  // namespace nsa::cli
