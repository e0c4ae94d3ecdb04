// The true time of a variant at a length.
#pragma once

#include "playback/world.hpp"

namespace nsa::tuner::playback {

/// ns of the curve alone, without ripple and tiles. `variant` is an index into world.variants.
double smooth_ns(const World& world, std::size_t variant, double length);
/// ns of a launch without noise: the curve at the end of the last tile, with remainder and ripple.
double true_ns(const World& world, std::size_t variant, std::int64_t length);

}  // namespace nsa::tuner::playback
