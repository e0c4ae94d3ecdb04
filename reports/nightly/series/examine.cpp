#include "examine.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <span>

#include "drift.hpp"
#include "last_night.hpp"
#include "night/causes.hpp"
#include "nsa/nightly/noise.hpp"
#include "split.hpp"
#include "steps.hpp"

namespace nsa::nightly {
namespace {

bool is_worse(double size, Better better) {
  return better == Better::both || (better == Better::lower ? size > 0 : size < 0);
}

/// Fills in what is said of a change from its two levels; `step.at` counts from 0.
Found found_of(const Examined& e, std::size_t begin, std::size_t end, const Step& step,
               const Options& options) {
  const Track& track = e.track;
  Found found;
  found.begin = begin;
  found.at = step.at;
  found.end = end;
  found.ordinal = e.ordinal_of(step.at);
  found.old_level = step.old_level;
  found.new_level = step.new_level;
  found.worse = is_worse(found.size(), options.better);
  Change& change = found.change;
  change.index = e.night(step.at).index;
  change.time = e.night(step.at).time;
  change.up = found.size() > 0;
  const auto shown = [&](double x) {
    constexpr double kMost = std::numeric_limits<double>::max();  // of two values it may be more
    return std::clamp(track.log_scale ? std::exp(x) : x * track.unit, -kMost, kMost);
  };
  (track.log_scale ? change.ratio : change.delta) = shown(found.size());
  change.interval = {shown(step.interval.first), shown(step.interval.second)};
  change.p = change.q = step.p;
  change.first_commit = e.night(step.at - 1).commit;
  change.last_commit = e.night(step.at).commit;
  return found;
}

StepRule rule_of(const Examined& e, const Options& options) {
  // One spike may be the luck of the noise; two are its nature.
  const double spikes = e.spikes.size() < 2 ? 0 : static_cast<double>(e.spikes.size());
  const double spike_share =
      spikes / static_cast<double>(std::max<std::size_t>(1, e.smooth.size()));
  return {options.alpha, options.least_change, e.least_sd, e.noise, spike_share, e.track.log_scale};
}

/// The step where an epoch begins: known beforehand, so that Student's t is its whole p.
std::optional<Step> seam_step(std::span<const double> before, std::span<const double> after,
                              double least_sd) {
  const double freedom = static_cast<double>(before.size() + after.size()) - 2;
  if (freedom < 1) return std::nullopt;
  const Level from = level_of(before), to = level_of(after);
  const double sd = std::max(std::sqrt((from.squares + to.squares) / freedom), least_sd);
  const double change = to.mean - from.mean;
  if (!(sd > 1e-9 * std::abs(change))) return std::nullopt;
  const double error = sd * std::sqrt(1 / from.nights + 1 / to.nights);
  const boost::math::students_t student(freedom);
  const double reach = quantile(student, 0.975) * error;
  Step step{0, from.mean, to.mean, {change - reach, change + reach}, 1};
  step.p = 2 * cdf(complement(student, std::abs(change) / error));
  return step;
}

void add_seam(Examined& e, std::size_t begin, std::size_t at, std::size_t end,
              const Options& options) {
  const std::span<const double> data(e.smooth);
  auto step = seam_step(data.subspan(begin, at - begin), data.subspan(at, end - at), e.least_sd);
  if (!step || step->p >= options.alpha ||
      !as_large_as(step->new_level - step->old_level, step->old_level, options.least_change,
                   e.track.log_scale))
    return;
  step->at = at;
  Found found = found_of(e, begin, end, *step, options);
  found.cause = Cause::machine;
  found.change.environment = true;
  e.found.push_back(std::move(found));
}

/// Steps within the epoch [begin, end), and the one with which it begins.
void examine_epoch(Examined& e, std::size_t begin, std::size_t end, const Options& options) {
  const StepRule rule = rule_of(e, options);
  std::vector<Step> steps =
      find_steps(std::span<const double>(e.smooth).subspan(begin, end - begin), rule);
  std::vector<std::size_t> bounds{begin};
  for (const Step& step : steps) bounds.push_back(begin + step.at);
  bounds.push_back(end);
  if (begin > 0) add_seam(e, e.level_begin, begin, bounds[1], options);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].at += begin;
    e.found.push_back(found_of(e, bounds[i], bounds[i + 2], steps[i], options));
  }
  e.level_begin = bounds[bounds.size() - 2];
}

/// The step that a drift has to beat where none is certain yet.
std::vector<std::size_t> likeliest_step(std::span<const double> data, const StepRule& rule) {
  const Split split = best_split(data, rule.least_sd);
  return split.at > 0 ? std::vector{split.at} : std::vector<std::size_t>{};
}

/// Steps of the last epoch up to now that are a drift become one.
void replace_by_drift(Examined& e, const Options& options) {
  const StepRule rule = rule_of(e, options);
  const std::size_t epoch = e.track.epoch_begin();
  auto first =
      std::find_if(e.found.begin(), e.found.end(), [&](const Found& f) { return f.at > epoch; });
  for (std::size_t begin = epoch;; begin = (first++)->at) {
    const auto data = std::span<const double>(e.smooth).subspan(begin);
    std::vector<std::size_t> steps;
    for (auto f = first; f != e.found.end(); ++f) steps.push_back(f->at - begin);
    if (steps.empty()) steps = likeliest_step(data, rule);
    auto drift = find_drift(data, rule);
    if (drift && better_than_steps(*drift, data, steps, e.least_sd)) {
      e.found.erase(first, e.found.end());
      drift->step.at += begin;
      e.found.push_back(found_of(e, begin, e.smooth.size(), drift->step, options));
      e.found.back().drift = true;
      return;
    }
    if (first == e.found.end()) return;
  }
}

/// The last night, unless it is too near to matter.
void add_surprise(Examined& e, const Options& options) {
  const auto level = std::span<const double>(e.track.data).subspan(e.level_begin);
  auto step = surprising_night(level, e.least_sd, static_cast<std::size_t>(options.warm_up),
                               options.better);
  if (!step || !as_large_as(step->new_level - step->old_level, step->old_level,
                            options.least_change, e.track.log_scale))
    return;
  step->at += e.level_begin;
  e.surprise = found_of(e, e.level_begin, e.track.data.size(), *step, options);
}

/// A change is reverted where a later one of its epoch comes back by more than half of it.
void mark_reverted(std::vector<Found>& found) {
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t j = i + 1; j < found.size() && !found[j].change.environment; ++j)
      found[i].change.reverted |=
          found[j].change.up != found[i].change.up && !found[i].change.environment &&
          std::abs(found[j].new_level - found[i].old_level) < std::abs(found[i].size()) / 2;
}

}  // namespace

Examined examine(const Series& series, const std::vector<std::int64_t>& ordinal,
                 const Options& options) {
  Examined e;
  e.series = &series;
  e.ordinal = &ordinal;
  e.track = track_of(series);
  const Track& track = e.track;
  e.noise = std::max(difference_noise(track.data, track.epochs), track.quantum_sd);
  e.least_sd = std::max(e.noise / 2, track.quantum_sd);
  e.spikes = isolated_spikes(track.data, track.epochs, e.noise);
  e.smooth = without_spikes(track.data, track.epochs, e.spikes);
  for (std::size_t i = 0; i < track.epochs.size(); ++i) {
    const bool last = i + 1 == track.epochs.size();
    examine_epoch(e, track.epochs[i], last ? track.data.size() : track.epochs[i + 1], options);
  }
  replace_by_drift(e, options);
  const bool drifts = !e.found.empty() && e.found.back().drift;
  if (!drifts) add_surprise(e, options);
  mark_reverted(e.found);
  explain_by_itself(e);
  return e;
}

}  // namespace nsa::nightly
