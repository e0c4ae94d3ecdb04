// Attention over keys that may lie in a cache, below the public attention().
#pragma once

#include "stage.hpp"

namespace nsa {

/// One attention call after compression. The window's keys may be fewer than the context (a cache
/// keeps the last ones only): window_problem counts those that are there.
struct AttendCall {
  const Problem& problem;
  const PlacedSequences& sequences;
  const Problem& window_problem;
  const PlacedSequences& window_sequences;
  TensorView q, k_cmp, v_cmp, k_sel, v_sel, k_win, v_win;
  TensorView fc1_w, fc1_b, fc2_w, fc2_b;
  TensorView o, blocks;
};

/// Score, ranges where they are read, the three branches and the gate. A branch that is off in
/// context.constants.branches is not computed and counts as zeros.
void attend(const Context& context, const AttendCall& call, Saved* saved);

/// Whether a branch is on: 0 cmp, 1 sel, 2 win.
inline bool branch_on(const Constants& constants, unsigned branch) {
  return (constants.branches >> branch) & 1u;
}

/// attention() for sequences that are placed already: those of sequences_of(problem).
void attention_placed(const Context& context, const Problem& problem,
                      const PlacedSequences& sequences, const AttentionTensors& tensors,
                      Saved* saved);
/// attention() with the whole batch at once, and one token after another (seed: sequential
/// prefill).
void attention_batched(const Context& context, const Problem& problem,
                       const PlacedSequences& sequences, const AttentionTensors& tensors,
                       Saved* saved);
void attention_sequential(const Context& context, const Problem& problem,
                          const AttentionTensors& tensors, Saved* saved);

}  // namespace nsa
