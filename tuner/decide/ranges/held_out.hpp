// What a decision loses at lengths that had no part in it.
#pragma once

#include <optional>

#include "decide/ratios/ratios.hpp"

namespace nsa::tuner {

/// The index of what runs at a point by the decision, or by the built-in order where it decides
/// nothing; nothing where that was not measured there.
std::optional<std::size_t> runs_at(const Group& group, const Decision& decision,
                                   const LengthRatios& point);

/// Of the ranges at the held-out points of the group; where nothing is decided, of the built-in
/// order. Nothing without such a point.
std::optional<HeldOut> held_out_regret(const Group& group, const Decision& decision,
                                       const DecideOptions& options);

}  // namespace nsa::tuner
