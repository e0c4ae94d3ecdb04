// The decisions of a class in the users' own names.
#pragma once

#include <vector>

#include "emit/path_ranges.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// The flat view of `decided`, a decision among variants that the users' names know, by their
/// times. `lossy` where the ranges say more than it can.
FlatView flat_view(const ClassDecisions& decided, const DecideInput& input, const PathTimes& times);

/// Decides again among the variants that the users' names know, and fills the flat views of
/// `table`, which was decided from the same input.
void add_flat_views(const DecideInput& input, ThresholdTable& table);

}  // namespace nsa::tuner
