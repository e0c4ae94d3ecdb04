// How long something will take, before anything ran: for the dry run, the order of contests and
// deadlines. Rough on purpose; the progress display corrects it by what was seen.
#pragma once

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

/// Seconds of one launch, from FLOP and bytes at a rate that an ordinary kernel reaches.
double estimate_launch_s(const Description& description, const Device& device);
/// Seconds of a contest at min_rounds.
double estimate_contest_s(const Contest& contest, const MeasurePolicy& policy,
                          const Device& device);
/// Shortest time that any hardware of that kind needs for the mathematics, and for any
/// call at all: a faster time is not believed.
double least_plausible_s(const Cost& cost, Backend backend);

/// FLOP and bytes of what the variant computes, from any row of ours over the same stages; zeros
/// where there is none.
Cost known_cost(const Problem& problem, const VariantId& id);

}  // namespace nsa::tuner
