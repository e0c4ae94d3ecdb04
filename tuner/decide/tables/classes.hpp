// Classes of a table: a problem of one, and those that nothing was measured for.
#pragma once

#include "nsa/schemas/problem.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// With one sequence length for all, to be set by the caller: seq_lens and context_lens have a
/// batch of the class's bin, its largest (32 beyond 16), and an overlap is in the middle of its
/// bin.
Problem problem_of(const ProblemClass& problem_class);

/// Adds the shipped decisions of classes and stages that nothing was measured for, as they are,
/// with the runs that they rest on. A note says how many. Classes have the order of the shipped
/// table, with new ones after them.
void keep_the_rest(const DecideInput& input, DecideReport& report);

}  // namespace nsa::tuner
