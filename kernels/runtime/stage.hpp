// One stage of a call: choose, announce, count, launch.
#pragma once

#include <initializer_list>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// Announces a stage to an observer, which may be null, for as long as it lives.
struct StageScope {
  StageScope(Observer* to, Stage of, std::string_view variant, std::int64_t seq_len,
             CUstream_st* on)
      : observer(to), stage(of), stream(on) {
    if (observer) observer->stage_begin(stage, variant, seq_len, stream);
  }
  ~StageScope() {
    if (observer) observer->stage_end(stage, stream);
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

  Observer* const observer;
  const Stage stage;
  CUstream_st* const stream;
};

/// The sequences of a call, on the host and where its tensors are.
struct PlacedSequences {
  std::span<const Sequence> host;
  const Sequence* device = nullptr;  // [host.size()]
};
/// Places them in the context's workspace; the host's have to outlive the calls.
PlacedSequences place_sequences(const Context& context, std::span<const Sequence> sequences);

/// A stage's operands: the problem that the stage sees (its lengths may be those of a cache's
/// window) and the one that decides, which is the caller's.
struct StageCall {
  Stage stage;
  const Problem& problem;
  const PlacedSequences& sequences;
  std::span<const TensorView> in;  // as the stage's signature has them: of kernels/operands
  std::span<const TensorView> out;
};

/// One launch of a stage: what was chosen for it, and its operands.
struct StageLaunch {
  const Choice& choice;
  const StageCall& call;    // call.problem has the direction
  Saved* saved = nullptr;   // written by a forward launch, read by a backward one
  unsigned accumulate = 0;  // bit i: added to out[i]
};

/// Runs the variant that the router chooses for `call.stage`. InputError when there is none.
void run_stage(const Context& context, const StageCall& call, Saved* saved = nullptr);
/// The same, of the stage's tensors by name (kernels/operands).
template <class Tensors>
void run_stage(const Context& context, Stage stage, const Problem& problem,
               const PlacedSequences& sequences, const Tensors& tensors, Saved* saved = nullptr) {
  const auto in = tensors.in();
  const auto out = tensors.out();
  run_stage(context, {stage, problem, sequences, in, out}, saved);
}
/// Runs that choice; `call.stage` is the stage that it is announced as, which its row covers.
void run_choice(const Context& context, const Choice& choice, const StageCall& call,
                Saved* saved = nullptr);
template <class Tensors>
void run_choice(const Context& context, const Choice& choice, Stage stage, const Problem& problem,
                const PlacedSequences& sequences, const Tensors& tensors, Saved* saved) {
  const auto in = tensors.in();
  const auto out = tensors.out();
  run_choice(context, choice, {stage, problem, sequences, in, out}, saved);
}
/// What runs for one stage of the composite that the context is within.
inline Choice choose(const Context& context, Stage stage, const Problem& problem,
                     Form form = Form::any) noexcept {
  return context.router->choose(stage, problem, context.within, form);
}
/// What the caller of a row itself has chosen.
Choice asked_for(const Variant& row) noexcept;
/// Whether the chosen variant of attend_selected reads the ranges, so that they have to be made
/// first.
bool needs_ranges(const Context& context, const Problem& problem);

/// A tensor in the workspace, contiguous.
TensorView take_tensor(Workspace& workspace, Dtype dtype,
                       std::initializer_list<std::int64_t> shape);
/// Rows [begin, begin + count) of dimension 0.
TensorView slice_rows(const TensorView& tensor, std::int64_t begin, std::int64_t count);

}  // namespace nsa
