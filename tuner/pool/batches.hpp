// Contests that share worker processes, so that workers are not started for each.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

using Batch = std::vector<const Contest*>;

/// The contests of a plan in batches, the cheapest in the first: each contest goes into
/// the first batch that has room, `most_s` of estimated work and `most_contests` at most, after
/// that of the length before it. So a batch never holds two lengths of one stage and class: what a
/// process adds to its times must not be the same at all lengths.
std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests);

/// Contests of a crew that get ready at once: another crew for no more of them takes as long to
/// start as it saves.
inline constexpr std::size_t kContestsOfCrew = 2;

/// Batches from the index `first` on that run side by side in so many crews: one that has work for
/// all of them, or some of a few contests each, one crew for each batch at least.
std::span<const Batch> some_batches(const std::vector<Batch>& batches, std::size_t first,
                                    std::size_t crews);
/// The crew of each contest of batches that run side by side, in their order. A crew has contests
/// of one batch alone; batches of many contests have several.
std::vector<std::size_t> crews_of(std::span<const Batch> batches, std::size_t crews);

}  // namespace nsa::tuner
