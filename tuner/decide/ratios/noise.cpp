#include "noise.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <numeric>

#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

/// Weight of the pooled variance against a ratio's own, in degrees of freedom (moderated variances:
/// Smyth 2004, doi 10.2202/1544-6115.1027, where this is estimated; 4 is his order of magnitude).
constexpr double kPriorFreedom = 4;
/// What processes differ by at least where nothing was seen of it: log ratio, standard deviation.
constexpr double kAssumedBetween = 0.003;
constexpr double kAssumedFreedom = 1000;
/// And rounds.
constexpr double kAssumedWithin = 0.01;

/// Median of a chi-squared variable over its mean: what makes a median of variances unbiased.
double median_share(std::size_t freedom) {
  static const std::vector<double> shares = [] {
    std::vector<double> made{1.0};
    for (int f = 1; f <= 64; ++f) {
      made.push_back(boost::math::median(boost::math::chi_squared(f)) / f);
    }
    return made;
  }();
  return freedom < shares.size() ? shares[freedom] : 1.0;
}

constexpr std::size_t kFew = 8;  // one of few that is off moves a mean too much
constexpr double kReach = 1.5;   // Huber's: 96 % as good as the mean where noise is normal

double clipped_centre(const std::vector<double>& values, double middle, double reach) {
  double sum = 0;
  for (const double value : values) sum += std::clamp(value - middle, -reach, reach);
  return middle + sum / static_cast<double>(values.size());
}

double median_deviation(std::vector<double> values, double middle) {
  for (double& value : values) value = std::abs(value - middle);
  return median(std::move(values));
}

struct Weighted {
  double value = 0, weight = 0;
};

/// Weights sum to 1. With even ones it is the median.
double weighted_median(std::vector<Weighted> values) {
  std::ranges::sort(values, {}, &Weighted::value);
  constexpr double kHalf = 0.5, kRounding = 1e-9;
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].weight;
    if (std::abs(below - kHalf) < kRounding && i + 1 < values.size())
      return std::midpoint(values[i].value, values[i + 1].value);
    if (below > kHalf) return values[i].value;
  }
  return values.back().value;
}

/// centre_of() with weights.
double weighted_centre(const std::vector<Weighted>& values) {
  const double middle = weighted_median(values);
  if (values.size() < kFew) return middle;
  std::vector<Weighted> off = values;
  for (Weighted& one : off) one.value = std::abs(one.value - middle);
  const double reach = kReach * kToSigma * weighted_median(std::move(off));
  double centre = middle;
  for (const Weighted& one : values)
    centre += one.weight * std::clamp(one.value - middle, -reach, reach);
  return centre;
}

/// The centre of all rounds, those of a process together counting once.
double centre_of_processes(const ByProcess& ratios, std::size_t processes) {
  std::vector<Weighted> all;
  for (const std::vector<double>& of_process : ratios) {
    const auto rounds = static_cast<double>(of_process.size() * processes);
    for (const double value : of_process) all.push_back({value, 1 / rounds});
  }
  return weighted_centre(all);
}

double sum_of_squares(const std::vector<double>& values, double middle, double reach) {
  double squares = 0;
  for (const double value : values) {
    const double off = std::clamp(value - middle, -reach, reach);
    squares += off * off;
  }
  return squares;
}

std::optional<double> median_variance(std::vector<double> variances) {
  if (variances.empty()) return std::nullopt;
  return median(std::move(variances));
}

double rounds_a_process(const Ratio& ratio) {
  return static_cast<double>(ratio.rounds) / static_cast<double>(ratio.processes);
}

double moderated(double prior, double own, std::size_t freedom) {
  const auto f = static_cast<double>(freedom);
  return (kPriorFreedom * prior + f * own) / (kPriorFreedom + f);
}

double within_of(const Ratio& ratio, const PooledNoise& pooled) {
  return moderated(pooled.within, ratio.within, ratio.within_freedom);
}

/// How far a ratio is the mean of its processes (1), or of its rounds (0).
double share_of_processes(const Ratio& ratio, const PooledNoise& pooled) {
  const double of_rounds = pooled.within / rounds_a_process(ratio);
  const bool alike = pooled.weights == Weights::processes && pooled.between > 0;
  return alike ? pooled.between / (pooled.between + of_rounds) : 0;
}

/// What one value is worth where rounds weigh alike, with both, and where processes do.
double blended(double share, double rounds, double both, double processes) {
  return (1 - share) * (1 - share) * rounds + 2 * share * (1 - share) * both +
         share * share * processes;
}

/// How much more A/A controls differ from 1 than their own noise explains.
double inflation_of(const std::vector<Ratio>& controls, const PooledNoise& pooled) {
  std::vector<double> excess;
  for (const Ratio& control : controls) {
    const Spread spread = spread_of(control, pooled);
    if (spread.variance > 0)
      excess.push_back(std::pow(value_of(control, pooled), 2) / spread.variance);
  }
  constexpr std::size_t kEnough = 5;
  if (excess.size() < kEnough) return 1;
  return std::max(1.0, median(std::move(excess)) / median_share(1));
}

}  // namespace

double centre_of(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < kFew) return middle;
  return clipped_centre(values, middle, kReach * kToSigma * median_deviation(values, middle));
}

std::optional<Ratio> ratio_of(const ByProcess& ratios) {
  Ratio result;
  std::vector<double> centres, all;
  double squares = 0, rounds_squared = 0;
  for (const std::vector<double>& of_process : ratios) {
    if (of_process.empty()) continue;
    const double centre = centre_of(of_process);
    centres.push_back(centre);
    all.insert(all.end(), of_process.begin(), of_process.end());
    ++result.processes;
    result.rounds += of_process.size();
    const auto rounds = static_cast<double>(of_process.size());
    rounds_squared += rounds * rounds;
    result.inverse_rounds += 1 / rounds;
    constexpr double kOutlier = 3;
    const double sigma = kToSigma * median_deviation(of_process, median(of_process));
    const double reach = of_process.size() < 3 ? INFINITY : kOutlier * sigma;
    squares += sum_of_squares(of_process, centre, reach);
    result.within_freedom += of_process.size() - 1;
  }
  if (centres.empty()) return std::nullopt;
  // Of all rounds: two of a process cannot outvote a third that a clock step went through.
  result.value = centre_of(all);
  const auto rounds = static_cast<double>(result.rounds);
  result.even_processes = rounds * rounds / rounds_squared;
  const bool even = rounds_squared * static_cast<double>(centres.size()) == rounds * rounds;
  result.of_processes = even ? result.value : centre_of_processes(ratios, centres.size());
  if (result.within_freedom > 0)
    result.within = squares / static_cast<double>(result.within_freedom);
  if (centres.size() > 1) {
    result.between =
        sum_of_squares(centres, result.value, INFINITY) / static_cast<double>(centres.size() - 1);
  }
  return result;
}

PooledNoise pool_noise(const std::vector<Ratio>& ratios, const std::vector<Ratio>& controls) {
  PooledNoise pooled;
  std::vector<double> within, between;
  const auto for_all = [&](auto&& visit) {
    for (const Ratio& ratio : ratios) visit(ratio);
    for (const Ratio& control : controls) visit(control);
  };
  for_all([&](const Ratio& r) {
    if (r.within_freedom > 0) within.push_back(r.within / median_share(r.within_freedom));
  });
  pooled.within = median_variance(std::move(within)).value_or(kAssumedWithin * kAssumedWithin);
  // What a process does to a variant it does to its control: controls tell only where ratios do
  // not.
  const auto several = [](const Ratio& r) { return r.processes > 1; };
  const auto& telling = std::ranges::any_of(ratios, several) ? ratios : controls;
  for (const Ratio& r : telling) {
    if (!several(r)) continue;
    pooled.freedom += r.processes - 1;
    const double explained = within_of(r, pooled) / rounds_a_process(r);
    between.push_back(r.between / median_share(r.processes - 1) - explained);
  }
  const auto seen = median_variance(std::move(between));
  pooled.between = seen ? std::max(0.0, *seen) : kAssumedBetween * kAssumedBetween;
  pooled.inflation = inflation_of(controls, pooled);
  return pooled;
}

double value_of(const Ratio& ratio, const PooledNoise& pooled) {
  return std::lerp(ratio.value, ratio.of_processes, share_of_processes(ratio, pooled));
}

Spread spread_of(const Ratio& ratio, const PooledNoise& pooled) {
  const auto processes = static_cast<double>(ratio.processes);
  const double of_rounds = within_of(ratio, pooled) / rounds_a_process(ratio);
  const double total = moderated(pooled.between + of_rounds, ratio.between, ratio.processes - 1);
  // Satterthwaite: few processes may hide how they differ, many rounds do not how rounds do.
  const double of_processes = std::max(0.0, total - of_rounds);
  // What was assumed is known exactly.
  const double between_freedom =
      pooled.freedom == 0
          ? kAssumedFreedom
          : std::clamp(static_cast<double>(pooled.freedom), 1.0, kPriorFreedom + processes - 1);
  const double within_freedom = kPriorFreedom + static_cast<double>(ratio.within_freedom);
  const double parts =
      of_processes * of_processes / between_freedom + of_rounds * of_rounds / within_freedom;
  const double sum = of_processes + of_rounds;
  const double share = share_of_processes(ratio, pooled);
  const double evenly = 1 / processes, all_rounds = of_rounds / processes;
  const double variance =
      of_processes * blended(share, 1 / ratio.even_processes, evenly, evenly) +
      blended(share, all_rounds, all_rounds,
              within_of(ratio, pooled) * ratio.inverse_rounds * evenly * evenly);
  return {pooled.inflation * variance,
          parts > 0 ? std::max(1.0, sum * sum / parts) : kPriorFreedom};
}

}  // namespace nsa::tuner
