// Which rows a training step runs, before it runs.
#pragma once

#include <map>
#include <string>

#include "nsa/kernels/training.hpp"

namespace nsa::training {

/// "forward attend_selected" -> "fused_query (tile=64)": each stage of both directions, and the row
/// that is chosen for it; where it is launched with several problems, all of them.
std::map<std::string, std::string> rows_of_step(const Router& router, const TrainingConfig& config,
                                                const AttentionOptions& options = {});

}  // namespace nsa::training
