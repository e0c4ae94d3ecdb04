// Stages of a step by tensors that have names (operands/).
#pragma once

#include "training/stages.hpp"

namespace nsa::training {

/// run_stage() of `tensors.in()` and `tensors.out()`.
template <class Tensors>
void run_tensors(const StageContext& step, Stage stage, const Problem& problem,
                 const Tensors& tensors, Saved* saved, unsigned accumulate = 0) {
  const auto in = tensors.in();
  const auto out = tensors.out();
  run_stage(step, stage, problem, in, out, saved, accumulate);
}

/// run_choice() of them.
template <class Tensors>
void run_tensors(const StageContext& step, const Choice& choice, Stage stage,
                 const Problem& problem, const Tensors& tensors, Saved* saved,
                 unsigned accumulate = 0) {
  const auto in = tensors.in();
  const auto out = tensors.out();
  run_choice(step, choice, stage, problem, in, out, saved, accumulate);
}

}  // namespace nsa::training
