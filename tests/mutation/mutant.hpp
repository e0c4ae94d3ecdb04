// Variants with one planted fault each, that the gate before every measurement has to catch.
#pragma once

#include <span>
#include <vector>

#include "nsa/kernels/catalog.hpp"

namespace nsa::test {

struct Mutant {
  const char* name;  // what is wrong, as a phrase
  Stage stage;
  const char* right;  // the CPU row that it was made from; it passes the gate on the same problem
  void (*launch)(const LaunchArgs&);
  Problem (*problem)();
};

/// Faults in what an attention stage reads: ranges, heads, scale, window, sequences.
std::span<const Mutant> attention_mutants();
/// Faults in how the numbers of an attention are added up.
std::span<const Mutant> arithmetic_mutants();
/// The window branch as these mutants compute it, without a fault.
void written_out_window(const LaunchArgs& args);
/// The selection as the mutant of the tie rule computes it, with the rule.
void written_out_score(const LaunchArgs& args);
/// Faults in what is written: rows, elements, strides, workspace, from launch to launch.
std::span<const Mutant> output_mutants();
/// Faults of the stages around the attention.
std::span<const Mutant> stage_mutants();

/// Faults in what forward launches of training save.
std::span<const Mutant> saving_mutants();

/// Faults between the stages of both passes of attention.
std::span<const Mutant> both_passes_mutants();

/// Faults in backward passes.
std::span<const Mutant> backward_mutants();

/// Rows that the parent asks for; one mutant is right in these only.
std::vector<std::int64_t>& asked_rows();

}  // namespace nsa::test
