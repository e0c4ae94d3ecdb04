// The reverse of class_of(): a problem to measure of a class.
#pragma once

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// With one sequence length for all, to be set by the caller: seq_lens and context_lens have a
/// batch of the class's bin, its largest (32 beyond 16), and an overlap is in the middle of its
/// bin.
Problem problem_of(const ProblemClass& problem_class);

}  // namespace nsa::tuner
