// The decisions of a class in the users' own names.
#pragma once

#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

/// One number for each name of facts 3.2. `lossy` where the ranges say more than it can.
FlatView flat_view(const ClassDecisions& decisions);

}  // namespace nsa::tuner
