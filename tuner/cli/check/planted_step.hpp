// A step that nobody made, planted in a copy of a history, and taken out again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nsa/nightly/judge.hpp"

namespace nsa::cli {

/// Nights that a planted step lasts: enough for a change point.
inline constexpr std::size_t kPlantedNights = 5;

/// Where a step is planted, and how large it is.
struct PlantedStep {
  std::size_t series = 0;           // its place in the history
  std::vector<std::size_t> nights;  // the last ones with values, ascending
  double factor = 1;                // of every value; 1 where `added` is
  double added = 0;                 // to every value of a series that is not all positive
};

/// A step to the worse in the quietest series that is long enough and `ok`, or where none is, in
/// one that changed on other nights: ten per cent, or eight times its noise from night to night
/// where that is more. Nothing where no series is long enough, or none of those suits.
std::optional<PlantedStep> step_for(const std::vector<nightly::Series>& history,
                                    const nightly::Report& report, const nightly::Options& options);
/// Nights in one environment that a series needs: check says nothing of those that it warms up in.
std::size_t nights_for_step(const nightly::Options& options);
/// Whether some series has as many.
bool any_long_enough(const std::vector<nightly::Series>& history, const nightly::Options& options);
/// Whether a change of the series begins with the step, or a night beside.
bool steps_at(const nightly::Verdict& verdict, const nightly::Series& series,
              const PlantedStep& step);
/// Moves the values; their nights ran another binary, as after a change of the code.
void plant(std::vector<nightly::Series>& history, const PlantedStep& step);
/// The values as they were, but for rounding.
void take_out(std::vector<nightly::Series>& history, const PlantedStep& step);

}  // namespace nsa::cli
