#include "nsa/nightly/sequential.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/nightly/noise.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::nightly {
namespace {

/// log((1 - b) / a) of Wald's bounds at a = b = .001.
const double kCertain = std::log(999.0);
constexpr double kSharePerPair = 1.0 / 3;
/// From so many pairs on, their own spread can say that they are noisier than was thought.
constexpr std::size_t kEnoughForSpread = 4;

double spread_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kToSigma * median_of(distances);
}

}  // namespace

SequentialTest::SequentialTest(double step, double noise)
    : step_(std::abs(step)),
      noise_(noise > 0 ? noise : std::abs(step) / 4),
      sign_(step > 0 ? 1 : -1) {
  expects(step != 0 && std::isfinite(step) && std::isfinite(noise), "a step to look for");
}

void SequentialTest::add(double log_ratio) {
  expects(std::isfinite(log_ratio), "a pair of positive times");
  towards_.push_back(sign_ * log_ratio);
}

double SequentialTest::score() const {
  double sd = noise_;
  if (pairs() >= kEnoughForSpread) sd = std::max(sd, spread_of(towards_));
  const double most = kSharePerPair * kCertain;
  double sum = 0;
  for (const double y : towards_)
    sum += std::clamp(step_ / (sd * sd) * (y - step_ / 2), -most, most);
  return sum;
}

Side SequentialTest::side() const {
  const double sum = score();
  constexpr double kRounding = 1e-9;  // of three thirds
  if (std::abs(sum) < kCertain - kRounding) return Side::unknown;
  return sum > 0 ? Side::bad : Side::good;
}

Side SequentialTest::likely_side() const {
  const double sum = score();
  if (std::abs(sum) < kSharePerPair * kCertain) return Side::unknown;
  return sum > 0 ? Side::bad : Side::good;
}

}  // namespace nsa::nightly
