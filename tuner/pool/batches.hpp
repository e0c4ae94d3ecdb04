// Contests that share worker processes, so that workers are not started for each.
#pragma once

#include <vector>

#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

using Batch = std::vector<const Contest*>;

/// The contests of a plan, in batches: those of one problem together, the cheapest problem first. A
/// batch ends at about `most_s` of estimated work or `most_contests`, and never holds two lengths
/// of one stage and class: what a process adds to its times must not be the same at all lengths.
std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests);

}  // namespace nsa::tuner
