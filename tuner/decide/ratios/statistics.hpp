// Small statistics that every part of the decision shares.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace nsa::tuner {

/// The same stream on every machine: mt19937_64 is specified bit for bit, the distributions of the
/// standard library are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, n); n is small, so the bias of the remainder does not matter.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }

 private:
  std::mt19937_64 engine_;
};

/// Quantile by linear interpolation between order statistics, share in [0, 1]. Not empty.
double quantile(std::vector<double> values, double share);
/// Lower tail of a percentile interval that has the width of Student's t for `n` units
/// (expanded percentile interval, Hesterberg 2015, 4.1): 0.025 becomes smaller for few units.
double expanded_tail(double tail, std::int64_t n);
/// Above which Student's t of that freedom lies with a probability of `tail`.
double student_quantile(double tail, double freedom);
/// Half width of Student's interval of the mean, in standard errors: t(n - 1, 1 - tail).
double student_factor(double tail, std::int64_t n);

/// `count` draws of Student's t in a random order: its quantiles, each once, so that the tails of
/// a thousand draws are as they should be (Latin hypercube sampling).
std::vector<double> student_draws(double freedom, std::size_t count, Random& random);

/// Interval between two quantiles of replicates; that of the estimate alone where there are none.
struct Interval {
  double low = 0, high = 0;
};
Interval interval_of(double estimate, const std::vector<double>& replicates, double tail);

}  // namespace nsa::tuner
