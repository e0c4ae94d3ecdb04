// What a decision loses at lengths that had no part in it.
#pragma once

#include <optional>

#include "ratios.hpp"

namespace nsa::tuner {

/// Of the ranges at the held-out spots of the group; where nothing is decided, of the built-in
/// order. Nothing without such a spot.
std::optional<HeldOut> held_out_regret(const Group& group, const Decision& decision,
                                       const DecideOptions& options);

}  // namespace nsa::tuner
