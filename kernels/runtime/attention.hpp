// Attention over keys that may lie in a cache, below the public attention().
#pragma once

#include "stage.hpp"

namespace nsa {

/// Where one attention call finds its keys. Those of the window may be fewer than the context (a
/// cache keeps the last ones only): window_problem counts those that are there.
struct AttendPlaces {
  const Problem& problem;
  const PlacedSequences& sequences;
  const Problem& window_problem;
  const PlacedSequences& window_sequences;
};

/// The plan of what was chosen; all tokens at once where nothing was.
inline const CompositePlan& plan_of(const Choice* chosen) noexcept {
  static constexpr CompositePlan kBatched{.mode = CompositePlan::Mode::batched};
  return chosen && chosen->variant ? chosen->variant->plan : kBatched;
}

/// A context for what runs within a composite.
inline Context within(const Context& context, const Choice& composite) noexcept {
  Context inner = context;
  inner.within = &composite;
  return inner;
}

/// What runs for attention: no row that computes it at once where a branch is off or something is
/// saved for a backward pass.
Choice choose_attention(const Context& context, const Problem& problem,
                        const Saved* saved) noexcept;

/// Attention after compression by the plan of context.within: score, ranges where they are read,
/// the three branches and the gate, or one kernel for all. `tensors.cmp` are compressed rows. A
/// branch that is off in context.options.branches is not computed and counts as zeros.
void attend(const Context& context, const AttendPlaces& places, const AttentionTensors& tensors,
            Saved* saved);

/// The one kernel: what attend() does in a decode step.
void attend_step(const Context& context, const AttendPlaces& places,
                 const AttentionTensors& tensors);

/// attention() by what was chosen for it, for sequences that are placed already: those of
/// sequences_of(problem).
void attention_placed(const Context& context, const Choice& chosen, const Problem& problem,
                      const PlacedSequences& sequences, const AttentionTensors& tensors,
                      Saved* saved);
/// The same, which places the sequences.
void attention_by(const Context& context, const Choice& chosen, const Problem& problem,
                  const AttentionTensors& tensors, Saved* saved);

}  // namespace nsa
