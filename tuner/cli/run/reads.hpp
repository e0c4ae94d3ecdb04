// Tokens that the last query of a run reads, of the branches that run.
#pragma once

#include <cstdint>

#include "options.hpp"

namespace nsa::cli {

struct Reads {
  std::int64_t predicted = 0;  // by the formula of the paper's Table 4
  std::int64_t actual = 0;
  bool selects = true;  // whether a selected branch runs
};

/// Of the attention and the branches (bits of branch_mask) that the plan runs. Dense attention
/// reads every token, and that is its formula too.
Reads reads_of(const RunPlan& plan, unsigned branches);

}  // namespace nsa::cli
