// Directions of a row beside its own: a forward row of the attention branches and of the gate also
// saves what the backward pass reads, in the same launch. Rows of both passes are rows of their
// own. And what of supports() depends on the problem, which every choice asks.
#pragma once

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/training/directions.hpp"

namespace nsa {

/// What a forward launch of the stage can save, by its names in Saved; all in fp32.
std::span<const TensorSpec> saved_by(Stage stage) noexcept;
/// Whether the name is one of these.
bool is_saved(std::string_view tensor) noexcept;

/// Whether a launch of the row computes problems of that direction. Saving is asked of all stages
/// of a forward pass: those with nothing to save run as they do otherwise.
bool computes(const Variant& row, Direction direction) noexcept;
/// Directions that contests of the row are in: its own, and saving where one of its stages saves.
std::span<const Direction> directions_of(const Variant& row) noexcept;

/// Parts of runs_problem() that are seldom asked: the no of a direction or dtype, and what a plan
/// names.
Support not_of_this_kind(const Variant& variant, const Problem& problem) noexcept;
Support parts_run(const Variant& variant, const Problem& problem, const Device& device) noexcept;
/// The part of supports() that depends on the problem: direction, dtype, the row's own `supports`,
/// and the rows that its plan names. Allocates nothing. Inline: it is most of what a choice costs.
inline Support runs_problem(const Variant& variant, const Problem& problem,
                            const Device& device) noexcept {
  const bool kind =
      problem.direction == variant.direction && (variant.dtypes & dtype_bit(problem.dtype)) != 0;
  if (!kind) return not_of_this_kind(variant, problem);
  if (variant.supports) {
    const Support own = variant.supports(problem, device);
    if (!own.supported) return own;
  }
  return variant.plan.parts.empty() ? Support::yes() : parts_run(variant, problem, device);
}
/// runs_problem() for a problem of kForwardSaving: as the row's own direction, whatever it saves.
Support runs_saving(const Variant& row, const Problem& problem, const Device& device) noexcept;
/// The same for a problem of any direction.
inline Support runs_asked(const Variant& row, const Problem& problem,
                          const Device& device) noexcept {
  return problem.direction == kForwardSaving ? runs_saving(row, problem, device)
                                             : runs_problem(row, problem, device);
}

/// The same problem in another direction.
Problem in_direction(Problem problem, Direction direction);
/// The problem as a launch gets it: what is saved is an operand of a forward launch.
inline Problem launched(Problem problem) {
  const bool saving = problem.direction == kForwardSaving;
  return saving ? in_direction(std::move(problem), Direction::forward) : problem;
}

/// Of the tensors `names` that a launch writes: those of its signature, in its order, and Saved.
struct SplitOutputs {
  std::vector<TensorView> out;
  Saved saved;
};
SplitOutputs split_outputs(std::span<const Stage> stages, const Problem& problem,
                           std::span<const TensorView> outputs);

}  // namespace nsa
