// The decisions of a class in the users' own names.
#pragma once

#include <vector>

#include "nsa/schemas/thresholds.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// One number for each of the users' own names. `lossy` where the ranges say more than it can.
/// `variants` tell which of these names a variant goes by; another one goes by its own name.
FlatView flat_view(const ClassDecisions& decisions,
                   const std::vector<VariantTraits>& variants = {});

}  // namespace nsa::tuner
