// The problem that the shape flags of a command ask about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "program.hpp"
#include "run/options.hpp"

namespace nsa::cli {

struct AskedProblem {
  RunOptions run;  // preset, config, seq-len, batch, dtype
  std::int64_t context_len = 0;
  std::optional<double> overlap;
  std::string direction = "forward";
};

/// The problem, what a config says of the runtime's variables, and whether flags or a config say
/// how long it is.
struct AskedShape {
  Problem problem;
  std::vector<tuner::ConfigSwitch> switches;
  bool length_given = false;
};

/// Declares --preset, --config, --ignore-unknown, --seq-len, --context-len, --batch, --dtype and
/// --overlap and --direction.
void declare_problem(CLI::App& sub, AskedProblem& asked);

/// For a device of that back end; notes about a config go to stderr. InputError on flags that make
/// no problem.
AskedShape shape_from(const Settings& settings, const AskedProblem& asked, Backend backend);
/// The problem of it alone.
Problem problem_from(const Settings& settings, const AskedProblem& asked, Backend backend);

}  // namespace nsa::cli
