// Files that a command is given, with a message that says what a file is that is another one.
#pragma once

#include <string>

#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::cli {

/// InputError where the file is none, or none of that kind: "t.json: is a thresholds file; a sweep
/// spec is expected" where that is known.
ThresholdTable read_thresholds(const std::string& path);
SweepSpec read_sweep_spec(const std::string& path);

}  // namespace nsa::cli
