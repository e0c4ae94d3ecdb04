#include "planted_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nsa/nightly/noise.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::cli {
namespace {

constexpr double kLeastStep = 0.10;        // of the level
constexpr double kNoises = 8;              // that the step is at least
constexpr const char* kMark = "+planted";  // after the hash of the binary

/// The nights with values since the environment last changed.
std::vector<std::size_t> last_epoch(const nightly::Series& series) {
  std::vector<std::size_t> nights;
  for (std::size_t i = series.nights.size(); i-- > 0;) {
    if (series.nights[i].values.empty()) continue;
    if (!nights.empty() && series.nights[i].environment != series.nights[nights.back()].environment)
      break;
    nights.push_back(i);
  }
  std::reverse(nights.begin(), nights.end());
  return nights;
}

bool all_positive(const nightly::Series& series) {
  return std::all_of(series.nights.begin(), series.nights.end(), [](const nightly::Night& night) {
    return std::all_of(night.values.begin(), night.values.end(), [](double v) { return v > 0; });
  });
}

/// Whether numbers can hold what the step makes of the values. Of a series that moves by powers of
/// ten from night to night, a step that stands out is larger than any number.
bool can_be_planted(const nightly::Series& series, const PlantedStep& step) {
  const auto holds = [&](double value) {
    const double moved = value * step.factor + step.added;
    return step.factor == 1 ? std::isfinite(moved) : std::isnormal(moved);
  };
  const auto holds_cycles = [&](double cycles) { return std::isfinite(cycles * step.factor); };
  return std::ranges::all_of(step.nights, [&](std::size_t i) {
    const nightly::Night& night = series.nights[i];
    return std::ranges::all_of(night.values, holds) &&
           std::ranges::all_of(night.cycles, holds_cycles);
  });
}

/// A step of the series and its noise as a share of the level.
struct PossibleStep {
  PlantedStep step;
  double noise = 0;
};

PossibleStep possible_step(const nightly::Series& series, std::size_t place,
                           const std::vector<std::size_t>& nights, nightly::Better better) {
  constexpr std::array<std::size_t, 1> kOneEpoch{0};
  const bool log_scale = all_positive(series);
  std::vector<double> levels;
  for (const std::size_t night : nights) {
    const double level = median(series.nights[night].values);
    levels.push_back(log_scale ? std::log(level) : level);
  }
  const double level = std::abs(median(levels));
  // As check sees it: values that take few levels may be rounded, and hide what is no larger.
  const double noise =
      std::max(nightly::difference_noise(levels, kOneEpoch), nightly::rounding_noise(series));
  const double worse = better == nightly::Better::higher ? -1 : 1;
  PossibleStep possible;
  possible.step.series = place;
  possible.step.nights.assign(nights.end() - kPlantedNights, nights.end());
  if (log_scale) {
    possible.noise = noise;
    possible.step.factor = std::exp(worse * std::max(std::log1p(kLeastStep), kNoises * noise));
  } else {
    possible.noise = level > 0 ? noise / level : noise;
    possible.step.added = worse * std::max(kLeastStep * (level > 0 ? level : 1), kNoises * noise);
  }
  return possible;
}

/// The rows about the night at which a step begins: a night before and a night after it.
std::pair<std::int64_t, std::int64_t> rows_about(const nightly::Series& series,
                                                 const PlantedStep& step) {
  const std::size_t first = step.nights.front();
  return {series.nights[first - 1].index, series.nights[first + 1].index};
}

/// The step of the quietest series with one of these states; nothing where none is long enough.
template <class Suits>
std::optional<PlantedStep> quietest_step(const std::vector<nightly::Series>& history,
                                         const nightly::Report& report,
                                         const nightly::Options& options, Suits suits) {
  std::optional<PossibleStep> quietest;
  const std::size_t least = nights_for_step(options);
  for (std::size_t i = 0; i < history.size(); ++i) {
    const std::vector<std::size_t> nights = last_epoch(history[i]);
    if (nights.size() < least || !suits(report.series[i].state)) continue;
    PossibleStep possible = possible_step(history[i], i, nights, options.better);
    if (steps_at(report.series[i], history[i], possible.step) ||
        !can_be_planted(history[i], possible.step))
      continue;
    if (!quietest || possible.noise < quietest->noise) quietest = std::move(possible);
  }
  if (!quietest) return std::nullopt;
  return quietest->step;
}

bool has_values_tonight(nightly::State state) {
  using nightly::State;
  return state != State::missing && state != State::failed && state != State::removed &&
         state != State::fresh && state != State::warming_up;
}

}  // namespace

std::size_t nights_for_step(const nightly::Options& options) {
  return static_cast<std::size_t>(options.warm_up) + kPlantedNights;
}

bool any_long_enough(const std::vector<nightly::Series>& history, const nightly::Options& options) {
  return std::ranges::any_of(history, [&](const nightly::Series& series) {
    return last_epoch(series).size() >= nights_for_step(options);
  });
}

bool steps_at(const nightly::Verdict& verdict, const nightly::Series& series,
              const PlantedStep& step) {
  const auto [begin, end] = rows_about(series, step);
  return std::any_of(
      verdict.changes.begin(), verdict.changes.end(),
      [&](const nightly::Change& change) { return change.index >= begin && change.index <= end; });
}

std::optional<PlantedStep> step_for(const std::vector<nightly::Series>& history,
                                    const nightly::Report& report,
                                    const nightly::Options& options) {
  const auto quiet = quietest_step(
      history, report, options, [](nightly::State state) { return state == nightly::State::ok; });
  return quiet ? quiet : quietest_step(history, report, options, has_values_tonight);
}

void plant(std::vector<nightly::Series>& history, const PlantedStep& step) {
  for (const std::size_t i : step.nights) {
    nightly::Night& night = history[step.series].nights[i];
    for (double& value : night.values) value = value * step.factor + step.added;
    for (double& cycles : night.cycles) cycles *= step.factor;
    if (!night.binary.empty()) night.binary += kMark;
  }
}

void take_out(std::vector<nightly::Series>& history, const PlantedStep& step) {
  for (const std::size_t i : step.nights) {
    nightly::Night& night = history[step.series].nights[i];
    for (double& value : night.values) value = (value - step.added) / step.factor;
    for (double& cycles : night.cycles) cycles /= step.factor;
    if (night.binary.ends_with(kMark))
      night.binary.resize(night.binary.size() - std::string_view(kMark).size());
  }
}

}  // namespace nsa::cli
