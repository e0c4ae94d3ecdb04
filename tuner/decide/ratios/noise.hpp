// How well a ratio is known: rounds within processes within problems, pooled over problems.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace nsa::tuner {

/// The paired log ratios of two variants on one problem, by fresh process.
using ByProcess = std::vector<std::vector<double>>;

/// Log ratio. Beyond a factor of two a variant is out of every contest and is visited seldom: its
/// ratio is known to a few per cent at best.
inline const double kOutOfReach = std::log(2.0);

/// A robust centre: the median of a few values, of more the mean of what lies near it (Huber's
/// estimator, one step). Not empty.
double centre_of(const std::vector<double>& values);

/// One ratio: its estimate, and what its own rounds and processes say of its noise.
struct Ratio {
  double value = 0;        // centre over all rounds
  std::size_t rounds = 0;  // in all
  std::size_t processes = 0;
  double within = 0;               // variance of a round within its process
  std::size_t within_freedom = 0;  // 0: not known
  double between = 0;              // variance of the processes' centres
  /// Processes of as many rounds each that would say as much: rounds weigh alike in `value`.
  double even_processes = 0;
  double of_processes = 0;    // centre of all rounds, those of a process together counting once
  double inverse_rounds = 0;  // sum over processes of 1 / rounds
};
/// Nothing when there is no ratio.
std::optional<Ratio> ratio_of(const ByProcess& ratios);

/// What counts alike in a ratio. The closer a process is to a tie, the more rounds it is asked for,
/// so that rounds draw ratios towards 1; processes feel a boost of their first rounds more.
enum class Weights { rounds, processes };

/// What many ratios say together. A ratio that was seen in two processes says little of how
/// processes differ; a hundred such ratios say it well. Medians, so that one disturbed problem
/// does not make all others look noisy.
struct PooledNoise {
  double within = 0;        // variance of a round within its process
  double between = 0;       // variance of a process beyond what its rounds explain
  std::size_t freedom = 0;  // processes beyond the first of each ratio
  double inflation = 1;     // of variances: A/A controls that differ by more than they should
  Weights weights = Weights::rounds;
};
PooledNoise pool_noise(const std::vector<Ratio>& ratios, const std::vector<Ratio>& controls);

/// The ratio; where processes are to count alike, they do as far as they differ.
double value_of(const Ratio& ratio, const PooledNoise& pooled);

/// Variance of that estimate, and Student's degrees of freedom of that variance.
struct Spread {
  double variance = 0;
  double freedom = 1;
};
/// The ratio's own noise, drawn to the pooled one as far as it says little itself.
Spread spread_of(const Ratio& ratio, const PooledNoise& pooled);

}  // namespace nsa::tuner
