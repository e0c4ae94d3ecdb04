#include "track.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/nightly/noise.hpp"

namespace nsa::nightly {
namespace {

// Two medians that are equal on paper may differ in their last bits: closer ones are the same.
constexpr double kSame = 1e-9;

std::vector<double> finite_values(const Series& series) {
  std::vector<double> values;
  for (const Night& night : series.nights)
    for (const double v : night.values)
      if (std::isfinite(v)) values.push_back(v);
  std::sort(values.begin(), values.end());
  return values;
}

/// The smallest difference between two values that is not zero; 0 where all are equal. Positive
/// values are no smaller than the quantum that they are multiples of.
double quantum_of(const std::vector<double>& sorted, bool positive) {
  double least = 0;
  if (sorted.empty()) return least;
  const double largest = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    // Of the largest value, it would be more than all that differs before a step of many powers of
    // ten.
    const double zero = kSame * (positive ? sorted[i] : largest);
    if (gap > zero && (least == 0 || gap < least)) least = gap;
  }
  return positive ? std::min(least, sorted.front()) : least;
}

double unit_of(const std::vector<double>& sorted, bool log_scale) {
  if (sorted.empty()) return 1;
  if (log_scale) return sorted[sorted.size() / 2];
  const double largest = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  return largest > 0 ? largest : 1;
}

}  // namespace

bool finite_median(const std::vector<double>& values, double& median) {
  std::vector<double> finite;
  finite.reserve(values.size());
  for (const double v : values)
    if (std::isfinite(v)) finite.push_back(v);
  if (finite.empty()) return false;
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  std::nth_element(finite.begin(), middle, finite.end());
  median = *middle;
  if (finite.size() % 2 == 0) {
    const double below = *std::max_element(finite.begin(), middle);
    median = below + (median - below) / 2;
  }
  return true;
}

Track track_of(const Series& series) {
  Track track;
  const std::vector<double> values = finite_values(series);
  track.log_scale = !values.empty() && values.front() > 0;
  track.unit = unit_of(values, track.log_scale);
  // Of the level in the middle, where a step alone may be the smallest difference that there is.
  const double quantum = quantum_of(values, track.log_scale) / track.unit;
  track.quantum_sd = (track.log_scale ? std::log1p(quantum) : quantum) / std::sqrt(12.0);
  const std::string* environment = nullptr;
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const Night& night = series.nights[i];
    double median = 0;
    if (!finite_median(night.values, median)) continue;
    if (!environment || *environment != night.environment)
      track.epochs.push_back(track.data.size());
    environment = &night.environment;
    track.data.push_back(track.log_scale ? std::log(median / track.unit) : median / track.unit);
    track.nights.push_back(i);
  }
  return track;
}

double rounding_noise(const Series& series) {
  const Track track = track_of(series);
  return track.quantum_sd * (track.log_scale ? 1 : track.unit);
}

}  // namespace nsa::nightly
