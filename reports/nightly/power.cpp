#include "nsa/nightly/power.hpp"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "night/calendar.hpp"
#include "series/examine.hpp"
#include "series/null_table.hpp"
#include "series/split.hpp"

namespace nsa::nightly {
namespace {

constexpr double kWanted = 0.8;
constexpr double kWantedZ = 0.8416;  // its normal quantile
constexpr std::int64_t kByNight = 3, kMostNights = 60, kMostReplicates = 1000;

/// Noise of the current level, in logs.
struct Noise {
  double nights = 0, sd = 0;
  double replicates = 0, replicate_variance = 0;
};

/// Variance of a night's median, over that of one replicate.
double median_variance(double replicates) {
  return (replicates > 2 ? std::numbers::pi / 2 : 1) / replicates;
}

/// Pools the replicates of the nights of the current level.
void add_replicates(const Examined& e, Noise& noise) {
  double squares = 0, freedom = 0, count = 0;
  for (std::size_t i = e.level_begin; i < e.track.data.size(); ++i) {
    std::vector<double> logs;
    for (const double v : e.night(i).values)
      if (std::isfinite(v)) logs.push_back(std::log(v));
    const Level level = level_of(logs);
    squares += level.squares;
    freedom += level.nights - 1;
    count += level.nights;
  }
  noise.replicates = count / noise.nights;
  noise.replicate_variance = freedom > 0 ? squares / freedom : 0;
}

Noise noise_of(const Examined& e) {
  Noise noise;
  const Level level = level_of(std::span(e.smooth).subspan(e.level_begin));
  noise.nights = level.nights;
  noise.sd = std::max(std::sqrt(level.squares / (noise.nights - 1)), e.least_sd);
  add_replicates(e, noise);
  return noise;
}

/// P that a step (in logs) is found on its night `by`.
double chance_to_find(double step, double sd, double nights, std::int64_t by,
                      const Options& options) {
  const double after = static_cast<double>(by), freedom = nights + after - 2;
  const double error = sd * std::sqrt(1 / nights + 1 / after);
  if (step < std::log1p(options.least_change) + kWantedZ * error) return 0;
  const double critical = critical_t(static_cast<std::size_t>(nights + after), options.alpha);
  return cdf(complement(boost::math::non_central_t(freedom, step / error), critical));
}

/// Smallest step, in logs, found by night 3; by bisection.
double smallest_step(double sd, double nights, const Options& options) {
  double low = 0, high = std::log1p(options.least_change) + 100 * sd;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (chance_to_find(middle, sd, nights, kByNight, options) < kWanted ? low : high) = middle;
  }
  return high;
}

std::optional<std::int64_t> nights_needed(const Noise& noise, double step, const Options& options) {
  for (std::int64_t by = 2; by <= kMostNights; ++by)
    if (chance_to_find(step, noise.sd, noise.nights, by, options) >= kWanted) return by;
  return std::nullopt;
}

std::optional<std::int64_t> replicates_needed(const Noise& noise, double step,
                                              const Options& options) {
  const double level = std::max(
      0.0, noise.sd * noise.sd - median_variance(noise.replicates) * noise.replicate_variance);
  const auto enough = [&](std::int64_t replicates) {
    const double variance =
        level + median_variance(static_cast<double>(replicates)) * noise.replicate_variance;
    return chance_to_find(step, std::sqrt(variance), noise.nights, kByNight, options) >= kWanted;
  };
  if (chance_to_find(step, noise.sd, noise.nights, kByNight, options) >= kWanted)
    return static_cast<std::int64_t>(std::ceil(noise.replicates));
  if (noise.replicate_variance <= 0 || !enough(kMostReplicates)) return std::nullopt;
  auto low = static_cast<std::int64_t>(noise.replicates), high = kMostReplicates;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

Power power_of(const Examined& e, const Options& options, double target) {
  Power power;
  power.name = e.series->name;
  power.nights = static_cast<std::int64_t>(e.track.data.size() - e.level_begin);
  if (!e.track.log_scale || power.nights < options.warm_up) return power;
  const Noise noise = noise_of(e);
  power.replicates = noise.replicates;
  power.night_sd = noise.sd;
  power.replicate_sd = std::sqrt(noise.replicate_variance);
  if (noise.sd <= 0) return power;
  power.smallest = std::expm1(smallest_step(noise.sd, noise.nights, options));
  power.nights_needed = nights_needed(noise, std::log1p(target), options);
  power.replicates_needed = replicates_needed(noise, std::log1p(target), options);
  return power;
}

}  // namespace

std::vector<Power> power_of(const std::vector<Series>& series, const Options& options,
                            double target) {
  const Calendar calendar = calendar_of(series);
  std::vector<Power> out;
  for (std::size_t i = 0; i < series.size(); ++i)
    out.push_back(power_of(examine(series[i], calendar.ordinal[i], options), options, target));
  return out;
}

}  // namespace nsa::nightly
