#include "split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "noise.hpp"

namespace nsa::nightly {
namespace {

constexpr std::size_t kBlock = 4;  // nights: shorter sides must move as one
constexpr double kTie = 1e-9;      // relative: closer ones differ by rounding alone

/// Whether every night of [begin, end) lies past half way from `from` to `to`.
bool moves_as_block(std::span<const double> side, double from, double to) {
  const double half = std::abs(to - from) * (0.5 + kTie), sign = to > from ? 1 : -1;
  return std::all_of(side.begin(), side.end(), [&](double y) { return sign * (y - from) > half; });
}

bool admissible(std::span<const double> data, std::size_t at, double before, double after) {
  const auto old_side = data.first(at), new_side = data.subspan(at);
  return (old_side.size() > kBlock || moves_as_block(old_side, after, before)) &&
         (new_side.size() > kBlock || moves_as_block(new_side, before, after));
}

struct Sums {
  double mean = 0, squares = 0;  // squares around the mean
};

Sums sums_of(std::span<const double> data) {
  Sums s;
  for (const double y : data) s.mean += y;
  s.mean /= static_cast<double>(data.size());
  for (const double y : data) s.squares += (y - s.mean) * (y - s.mean);
  return s;
}

/// Lag-1 autocorrelation around the two levels, never negative.
double autocorrelation(std::span<const double> data, const Split& split) {
  double products = 0, squares = 0, last = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const double r = data[i] - (i < split.at ? split.old_level : split.new_level);
    products += r * last;
    squares += r * r;
    last = r;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.9) : 0;
}

}  // namespace

double mean_inflation(double rho, std::size_t n) {
  const double count = static_cast<double>(n), rest = 1 - rho;
  return (1 + rho) / rest - 2 * rho * (1 - std::pow(rho, count)) / (count * rest * rest);
}

Split best_split(std::span<const double> data, double least_sd) {
  Split best;
  const std::size_t n = data.size();
  if (n < 2 * kLeastSide) return best;
  const Sums all = sums_of(data);
  double before = 0, most = 0;  // t grows with the sum of squares between the levels
  for (std::size_t at = 1; at + kLeastSide <= n; ++at) {
    before += data[at - 1] - all.mean;
    if (at < kLeastSide) continue;
    const double left = static_cast<double>(at), right = static_cast<double>(n - at);
    const double between = before * before * (1 / left + 1 / right);
    if (between <= most * (1 + kTie)) continue;
    const double old_level = all.mean + before / left, new_level = all.mean - before / right;
    if (!admissible(data, at, old_level, new_level)) continue;
    most = between;
    best.at = at;
    best.old_level = old_level;
    best.new_level = new_level;
  }
  if (best.at == 0) return best;
  const double within = std::max(0.0, all.squares - most) / static_cast<double>(n - 2);
  const double sd = std::max(std::sqrt(within), least_sd);
  if (sd <= kTie * std::abs(best.new_level - best.old_level)) return Split{};
  const double rho = autocorrelation(data, best);
  best.error = sd * std::sqrt(mean_inflation(rho, best.at) / static_cast<double>(best.at) +
                              mean_inflation(rho, n - best.at) / static_cast<double>(n - best.at));
  best.t = std::abs(best.new_level - best.old_level) / best.error;
  return best;
}

Split best_split_of_series(std::span<const double> data) {
  constexpr std::array<std::size_t, 1> kOneEpoch{0};
  const double noise = difference_noise(data, kOneEpoch);
  const auto spikes = isolated_spikes(data, kOneEpoch, noise);
  if (spikes.empty()) return best_split(data, noise / 2);
  return best_split(without_spikes(data, kOneEpoch, spikes), noise / 2);
}

}  // namespace nsa::nightly
