// NSA_DEBUG_FA2=1: why a dense branch runs fused attention of a library, or does not.
#pragma once

#include <string>

#include "nsa/kernels/routing.hpp"

namespace nsa {

/// One line per row of the stage that is a library's attention (can run, or why not), and one for
/// what runs and who decided.
std::string fa2_gates(const Router& router, Stage stage, const Problem& problem);

/// Writes fa2_gates() to stderr where NSA_DEBUG_FA2 is on, once per stage and problem and process,
/// for the branches that have such rows. Returns true when it was written now.
bool print_fa2_gates_once(const Router& router, Stage stage, const Problem& problem);

}  // namespace nsa
