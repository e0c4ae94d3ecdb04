// Ties: what random inputs never show.
#pragma once

#include "nsa/schemas/device.hpp"
#include "worker/handle.hpp"

namespace nsa::tuner {

/// Launches a selection once more, on a small problem of the same shape whose compressed keys are
/// all zero, so that every block scores the same: share of the rows that do not pick the lower
/// index (docs/nsa.md 5). The number of visible keys is a power of two, so no order of summation
/// rounds. 0 for other stages, where cmp_block is no power of two, and where
/// the variant does not support the small problem.
double wrong_ties(const Handle& handle, const Device& device);

}  // namespace nsa::tuner
