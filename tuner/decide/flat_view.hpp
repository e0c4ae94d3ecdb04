// The decisions of a class in the users' own names.
#pragma once

#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

/// One number for each of the users' own names. `lossy` where the ranges say more than it can.
FlatView flat_view(const ClassDecisions& decisions);

}  // namespace nsa::tuner
