// The decisions of a class in the users' own names.
#pragma once

#include <vector>

#include "nsa/schemas/thresholds.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// The flat view of `decided`, a decision among variants that the users' names know, from the rows
/// of `input`, of which only those count. `lossy` where the ranges say more than it can.
FlatView flat_view(const ClassDecisions& decided, const DecideInput& input);

/// Decides again among the variants that the users' names know, and fills the flat views of
/// `table`, which was decided from the same input.
void add_flat_views(const DecideInput& input, ThresholdTable& table);

}  // namespace nsa::tuner
