// Starting a program with three pipes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/child.hpp"

namespace nsa::tuner {

struct Spawned {
  pid_t pid = -1;
  Fd in, out, err;  // our ends, non-blocking
};
/// `environment`: variables in place of ours or beside them. EnvironmentError when a pipe or
/// process cannot be made, or the program cannot be executed.
Spawned spawn(const std::vector<std::string>& argv, std::optional<std::uint64_t> memory_limit,
              const probes::Variables& environment);

}  // namespace nsa::tuner
