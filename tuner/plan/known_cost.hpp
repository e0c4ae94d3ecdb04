// What the mathematics of stages costs, by our own table.
#pragma once

#include "nsa/schemas/measurement.hpp"

namespace nsa::tuner {

/// FLOP and bytes of what the variant computes, from any row of ours over the same stages; zeros
/// where there is none.
Cost known_cost(const Problem& problem, const VariantId& id);

}  // namespace nsa::tuner
