// Contests that share worker processes, so that workers are not started for each.
#pragma once

#include <vector>

#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

using Batch = std::vector<const Contest*>;

/// The contests of a plan in batches, the cheapest in the first: each contest goes into
/// the first batch that has room, `most_s` of estimated work and `most_contests` at most, after
/// that of the length before it. So a batch never holds two lengths of one stage and class: what a
/// process adds to its times must not be the same at all lengths.
std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests);

}  // namespace nsa::tuner
