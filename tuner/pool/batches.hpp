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

/// A contest and the crew that it is measured by.
struct Placed {
  const Contest* contest = nullptr;
  std::size_t crew = 0;
};
/// The contests of batches that run side by side, as many as there are crews at most: the cheapest
/// first, so that contests that get ready at once belong to several crews, and each still comes
/// after the shorter lengths of its stage and class. A crew has contests of one batch alone; where
/// there are more crews than batches, those of many contests have several.
std::vector<Placed> place_in_crews(std::span<const Batch> batches, std::size_t crews);

}  // namespace nsa::tuner
