#include "drift.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "nsa/nightly/noise.hpp"
#include "split.hpp"

namespace nsa::nightly {
namespace {

constexpr double kClearlyBetter = 2;  // in units of twice a log likelihood

/// A level, and from `last flat` on a slope per night.
struct Bend {
  std::size_t last_flat = 0;
  double mean = 0, slope = 0;     // mean of all data
  double mean_x = 0, spread = 0;  // of nights since the bend: mean, and squares around it
  double explained = 0, squares = 0;

  double at(std::size_t i) const {
    const double x = i > last_flat ? static_cast<double>(i - last_flat) : 0;
    return mean + slope * (x - mean_x);
  }
};

/// Least squares over every place of the bend, in one pass from the end.
Bend best_bend(std::span<const double> data) {
  Bend best;
  const double n = static_cast<double>(data.size());
  for (const double y : data) best.mean += y / n;
  double total = 0, after = 0, products = 0;
  for (const double y : data) total += (y - best.mean) * (y - best.mean);
  for (std::size_t last_flat = data.size() - 1; last_flat-- > 0;) {
    after += data[last_flat + 1] - best.mean;
    products += after;
    const double m = n - 1 - static_cast<double>(last_flat);
    if (m < static_cast<double>(kLeastDrift)) continue;
    const double mean_x = m * (m + 1) / 2 / n;
    const double spread = m * (m + 1) * (2 * m + 1) / 6 - n * mean_x * mean_x;
    const double explained = products * products / spread;
    if (explained <= best.explained * (1 + 1e-9)) continue;
    best.last_flat = last_flat;
    best.mean_x = mean_x;
    best.spread = spread;
    best.slope = products / spread;
    best.explained = explained;
  }
  best.squares = std::max(0.0, total - best.explained);
  return best;
}

double squares_around_steps(std::span<const double> data, std::span<const std::size_t> steps) {
  double squares = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= steps.size(); ++i) {
    const std::size_t end = i < steps.size() ? steps[i] : data.size();
    squares += level_of(data.subspan(begin, end - begin)).squares;
    begin = end;
  }
  return squares;
}

/// Whether the medians of both halves of the slope lie as far apart as half of what it says, the
/// first as far from the level before, so that a few nights at the end make no drift.
bool climbs(std::span<const double> data, const Bend& bend) {
  const auto slope = data.subspan(bend.last_flat + 1);
  const std::size_t middle = slope.size() / 2;
  const double first = median_of(slope.first(middle)), second = median_of(slope.subspan(middle));
  const double half_rise = bend.slope * static_cast<double>(slope.size()) / 2;
  return (second - first) / half_rise > 0.5 && (first - bend.at(0)) / half_rise > 0.25;
}

}  // namespace

std::optional<Drift> find_drift(std::span<const double> data, const StepRule& rule) {
  if (data.size() <= kLeastDrift) return std::nullopt;
  const Bend bend = best_bend(data);
  const double freedom = static_cast<double>(data.size()) - 3;
  const double sd = std::max(std::sqrt(bend.squares / freedom), rule.least_sd);
  if (bend.explained <= 0 || sd <= 0 || !climbs(data, bend)) return std::nullopt;
  std::vector<double> rest(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) rest[i] = data[i] - bend.at(i);
  const double rho = autocorrelation(rest, bend.slope);
  const double error = sd * std::sqrt((1 + rho) / (1 - rho) / bend.spread);
  const boost::math::students_t student(freedom);
  const double begins = static_cast<double>(data.size() - kLeastDrift);
  const double nights = static_cast<double>(data.size() - 1 - bend.last_flat);
  const double reach = quantile(student, 0.975) * error * nights, rise = bend.slope * nights;
  Drift drift;
  drift.squares = bend.squares;
  drift.step = {bend.last_flat + 1,
                bend.at(0),
                bend.at(data.size() - 1),
                {rise - reach, rise + reach},
                std::min(1.0, begins * 2 * cdf(complement(student, std::abs(bend.slope) / error)))};
  if (drift.step.p >= rule.alpha || !matters(drift.step, rule)) return std::nullopt;
  return drift;
}

bool better_than_steps(const Drift& drift, std::span<const double> data,
                       std::span<const std::size_t> steps, double least_sd) {
  const double n = static_cast<double>(data.size());
  const auto score = [&](double squares, double parameters) {
    return n * std::log(std::max(squares, n * least_sd * least_sd)) + parameters * std::log(n);
  };
  const double levels = 1 + 2 * static_cast<double>(steps.size());
  return score(drift.squares, 3) + kClearlyBetter <
         score(squares_around_steps(data, steps), levels);
}

}  // namespace nsa::nightly
