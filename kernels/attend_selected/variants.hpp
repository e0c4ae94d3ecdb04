// What the tables of attend_selected share.
#pragma once

#include <string_view>
#include <vector>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"

namespace nsa::attend_selected {

inline constexpr Stage kStages[] = {Stage::attend_selected};
inline constexpr StageRows kStage{kStages, attend_selected_cost, attend_selected_backward_cost};
/// What a row does not read.
inline constexpr std::string_view kBlocks[] = {"blocks"}, kRanges[] = {"ranges"};

/// Dense attention with a mask.
constexpr Variant quadratic(Variant row) {
  row.order = kQuadratic;
  return row;
}

/// Rows of the backward pass, on a CPU and on a GPU.
std::vector<Variant> backward_rows();

}  // namespace nsa::attend_selected
