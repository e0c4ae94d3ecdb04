// Rows that run one row for each of their stages, one after another: what a row over all of these
// stages at once has to beat.
#pragma once

#include <span>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa {

/// For the stages of each row over several of them: every combination of one row a stage, named
/// "fused+materialised" in their order. Only of rows that may be chosen and round no more than the
/// problem's dtype does: the others run where somebody asks for them, and then stage by stage.
std::vector<Variant> rows_in_turn(std::span<const Variant> rows);

/// Each row at the point that it takes where nobody has measured.
void launch_in_turn(const LaunchArgs& args);

}  // namespace nsa
