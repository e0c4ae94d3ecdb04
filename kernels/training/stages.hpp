// How a step runs the stages of NSA, in both directions: for real, or only counting what they take.
#pragma once

#include "runtime/stage.hpp"
#include "training/ops.hpp"

namespace nsa::training {

/// One launch: `call.problem` has the direction. `saved` is written forward and read backward.
struct StageLaunch {
  const Choice& choice;
  const StageCall& call;
  Saved* saved = nullptr;
  unsigned accumulate = 0;  // bit i: added to out[i]
};

class StageRunner {
 public:
  virtual ~StageRunner() = default;
  virtual void launch(const Context&, const StageLaunch&) const = 0;
};
const StageRunner& launching() noexcept;
/// Takes the row's workspace and does nothing else.
const StageRunner& counting() noexcept;

/// The problem that a router is asked about for a launch: one that saves is a contest of its own.
Problem asked_of(const Problem& problem, bool saves);
/// What runs: the router's choice; where that gives other bits each time and `deterministic` does
/// not allow it, the first row in the built-in order that does not. InputError where there is none.
Choice choose_row(const Router& router, Stage stage, const Problem& problem, bool deterministic);

}  // namespace nsa::training
