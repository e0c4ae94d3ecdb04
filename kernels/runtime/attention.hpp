// Attention over keys that may lie in a cache, below the public attention().
#pragma once

#include <string_view>

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
  bool streams = false;  // window branch on a stream of its own, where it needs no workspace
};

/// Score, ranges where they are read, the three branches and the gate. A branch that is off in
/// context.constants.branches is not computed and counts as zeros.
void attend(const Context& context, const AttendCall& call, Saved* saved);

/// Attention behind compression as one kernel: what attend() does in a decode step.
void attend_step(const Context& context, const AttendCall& call);
/// Whether the API or the environment asks for something else than that kernel: another row of
/// `attention`, or a row of one of the stages that it covers.
bool other_rows_asked_for(const Context& context, const Problem& problem);
/// Whether the router's choice for `attention` is that kernel and it gives what is asked for: all
/// three branches, nothing saved for a backward pass, no other row of one of its stages.
bool takes_fused_step(const Context& context, const Problem& problem, const Choice& choice,
                      const Saved* saved);

/// Whether a branch is on: 0 cmp, 1 sel, 2 win.
inline bool branch_on(const Constants& constants, unsigned branch) {
  return (constants.branches >> branch) & 1u;
}

/// Whether the choice is a row that runs the window branch on a stream of its own.
bool takes_streams(const Choice& choice);

/// attention() for sequences that are placed already: those of sequences_of(problem).
void attention_placed(const Context& context, const Problem& problem,
                      const PlacedSequences& sequences, const AttentionTensors& tensors,
                      Saved* saved);
/// attention() with the whole batch at once, and one token after another (seed: sequential
/// prefill).
void attention_batched(const Context& context, const Problem& problem,
                       const PlacedSequences& sequences, const AttentionTensors& tensors,
                       Saved* saved, std::string_view path = "batched");
void attention_sequential(const Context& context, const Problem& problem,
                          const AttentionTensors& tensors, Saved* saved);

}  // namespace nsa
