// The parts of the table of NSA_* names, by who reads them.
#pragma once

#include <span>

#include "nsa/schemas/env_names.hpp"

namespace nsa {

std::span<const EnvName> runtime_env_names();
std::span<const EnvName> ignored_env_names();
std::span<const EnvName> trainer_env_names();

}  // namespace nsa
