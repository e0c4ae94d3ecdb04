// How a step runs the stages of NSA, in both directions: for real, or only counting what they take.
#pragma once

#include <string_view>

#include "nsa/kernels/training.hpp"
#include "runtime/ops.hpp"
#include "runtime/stage.hpp"

namespace nsa::training {

/// Takes the row's workspace and does nothing else.
const StageRunner& counting() noexcept;

/// What launches of stages share in both passes.
struct StageContext {
  Context context;  // telemetry: of the forward pass; within: what was chosen for attention
  const Problem& forward;
  const Problem& backward;
  const PlacedSequences& sequences;
  const StageRunner& stages;
  bool deterministic = true;  // only rows that give the same bits each time
  Telemetry* backward_telemetry = nullptr;
  StepObserver* observer = nullptr;
  StepPhase forward_phase = StepPhase::forward;  // as which the forward pass is announced

  Workspace& workspace() const { return *context.workspace; }
  TensorView take(std::initializer_list<std::int64_t> shape) const {
    return take_tensor(workspace(), forward.dtype, shape);
  }
  std::int64_t tokens() const { return forward.total_tokens(); }
};

/// A part of a step, announced to the observer.
class Part {
 public:
  Part(const StageContext& step, StepPhase phase, std::string_view name)
      : observer_(step.observer), stream_(step.context.stream) {
    if (observer_) observer_->begin(phase, name, stream_);
  }
  ~Part() {
    if (observer_) observer_->end(stream_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  StepObserver* observer_;
  CUstream_st* stream_;
};

/// The problem that a router is asked about for a launch: one that saves is a contest of its own.
Problem asked_of(const Problem& problem, bool saves);
/// What runs: the router's choice, by the plan of what the context is within; where that gives
/// other bits each time and `deterministic` does not allow it, the first row in the built-in order
/// that does not. InputError where there is none.
Choice choose_row(const Context& context, Stage stage, const Problem& problem, bool deterministic);
/// Runs a stage in the direction of `problem`, by the decision of launches that save where one
/// does.
void run_stage(const StageContext& step, Stage stage, const Problem& problem,
               std::span<const TensorView> in, std::span<const TensorView> out, Saved* saved,
               unsigned accumulate = 0);
/// By what was chosen already.
void run_choice(const StageContext& step, const Choice& choice, Stage stage, const Problem& problem,
                std::span<const TensorView> in, std::span<const TensorView> out, Saved* saved,
                unsigned accumulate = 0);
/// Ranges of the selected blocks, where `row` reads them; absent otherwise.
TensorView ranges_for(const StageContext& step, const Variant& row, const TensorView& blocks,
                      StepPhase phase);

/// What was decided for both passes of attention, whose plan a step of `forward` follows.
Choice choose_attention(const Router& router, const Problem& forward);

}  // namespace nsa::training
