// Errors by who has to act, which is also what decides the exit code. Threads may share an error:
// nothing changes one.
#pragma once

#include <stdexcept>
#include <string>

namespace nsa {

/// Exit codes of the program; which of several wins is in docs/architecture.md.
enum class ExitCode : int {
  good = 0,
  found = 1,
  bad_input = 2,
  nothing_judged = 3,
  environment = 4
};

/// A flag, file, environment variable, database or request that the user has to correct: exit 2.
/// The message is one line: where (file, line or JSON pointer), what, and what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The machine cannot do it now (no device, disk full, database locked, read-only): exit 4.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken contract inside the program: a defect of ours.
class ContractError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws ContractError with `what was expected` unless `holds`.
inline void expects(bool holds, const char* what) {
  if (!holds) throw ContractError(std::string("expected: ") + what);
}

}  // namespace nsa
