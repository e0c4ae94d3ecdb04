// Many small steps in one direction, which no two nights show.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "steps.hpp"

namespace nsa::nightly {

/// Nights that a drift lasts at least: shorter ones are steps.
constexpr std::size_t kLeastDrift = 14;

/// A straight line from the level `step.old_level` to `step.new_level` on the last night. It begins
/// with step.at; p is that of the slope, paid for every begin that was tried.
struct Drift {
  Step step;
  double squares = 0;  // around the line
};

/// The level that bends best, where the bend is certain and as large as a step has to be.
std::optional<Drift> find_drift(std::span<const double> data, const StepRule& rule);

/// Whether `drift` says more of `data` than `steps` (positions in data) do, by Schwarz's criterion.
bool better_than_steps(const Drift& drift, std::span<const double> data,
                       std::span<const std::size_t> steps, double least_sd);

}  // namespace nsa::nightly
