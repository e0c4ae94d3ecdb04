#include "split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "nsa/nightly/noise.hpp"

namespace nsa::nightly {
namespace {

constexpr std::size_t kBlock = 4;      // nights: shorter sides must move as one
constexpr std::size_t kMajority = 20;  // nights: shorter sides must move by more than half of them
constexpr double kStep = 5;            // medians of |difference|: 3.4 SD
constexpr double kTie = 1e-9;          // relative: closer ones differ by rounding alone

bool admissible(std::span<const double> data, std::size_t at, double before, double after) {
  return moves_as_block(data.first(at), after, before) &&
         moves_as_block(data.subspan(at), before, after);
}

double rho_of(std::span<const double> data, const Split& split) {
  std::vector<double> rest(data.size());
  for (std::size_t i = 0; i < data.size(); ++i)
    rest[i] = data[i] - (i < split.at ? split.old_level : split.new_level);
  return autocorrelation(rest, split.new_level - split.old_level);
}

/// Error and t of a split; no split where the levels differ by rounding alone.
void judge(Split& split, std::span<const double> data, double squares, double least_sd) {
  const std::size_t left = split.at, right = data.size() - split.at;
  const double sd = std::max(std::sqrt(squares / static_cast<double>(data.size() - 2)), least_sd);
  const double change = std::abs(split.new_level - split.old_level);
  if (sd <= kTie * change) {
    split = Split{};
    return;
  }
  split.sd = sd;
  const double rho = rho_of(data, split);
  split.error = sd * std::sqrt(mean_inflation(rho, left) / static_cast<double>(left) +
                               mean_inflation(rho, right) / static_cast<double>(right));
  split.t = change / split.error;
}

/// From the variances of differences over one night and over two. Those across a step count in
/// neither: they are two of those over two nights, and one of those over one.
double rho_of_differences(std::span<const double> rest) {
  if (rest.size() < 5) return 0;
  std::vector<double> sizes;
  for (std::size_t i = 1; i < rest.size(); ++i) sizes.push_back(std::abs(rest[i] - rest[i - 1]));
  const double most = kStep * median_of(sizes);
  double over_one = 0, over_two = 0;
  for (std::size_t i = 2; i < rest.size(); ++i) {
    const double one = rest[i] - rest[i - 1], two = rest[i] - rest[i - 2];
    if (sizes[i - 1] > most || sizes[i - 2] > most) continue;
    over_one += one * one;
    over_two += two * two;
  }
  return over_one > 0 ? over_two / over_one - 1 : 0;
}

}  // namespace

Level level_of(std::span<const double> data) {
  Level level{static_cast<double>(data.size())};
  for (const double y : data) level.mean += y;
  level.mean /= level.nights;
  for (const double y : data) level.squares += (y - level.mean) * (y - level.mean);
  return level;
}

bool moves_as_block(std::span<const double> side, double from, double to) {
  if (side.size() > kMajority) return true;
  const double half = std::abs(to - from) * (0.5 + kTie), sign = to > from ? 1 : -1;
  const auto past = static_cast<std::size_t>(
      std::count_if(side.begin(), side.end(), [&](double y) { return sign * (y - from) > half; }));
  return side.size() <= kBlock ? past == side.size() : 2 * past > side.size();
}

double autocorrelation(std::span<const double> rest, double change) {
  const double rounding = kTie * std::abs(change);
  double products = 0, squares = 0, last = 0;
  for (double r : rest) {
    if (std::abs(r) <= rounding) r = 0;
    products += r * last;
    squares += r * r;
    last = r;
  }
  if (squares <= 0) return 0;
  const double error = 1 / std::sqrt(static_cast<double>(rest.size()));
  const double around_levels = std::min(products / squares - error, 0.9);
  if (around_levels <= 0) return 0;
  return std::clamp(rho_of_differences(rest), 0.0, around_levels);
}

double mean_inflation(double rho, std::size_t n) {
  const double count = static_cast<double>(n), rest = 1 - rho;
  return (1 + rho) / rest - 2 * rho * (1 - std::pow(rho, count)) / (count * rest * rest);
}

Split best_split(std::span<const double> data, double least_sd) {
  Split best;
  const std::size_t n = data.size();
  if (n < 2 * kLeastSide) return best;
  const Level all = level_of(data);
  const double nights = all.nights;
  double before = 0, most = 0;  // t grows with the sum of squares between the levels
  for (std::size_t at = 1; at + kLeastSide <= n; ++at) {
    before += data[at - 1] - all.mean;
    if (at < kLeastSide) continue;
    const double left = static_cast<double>(at), right = nights - left;
    if (before * before * nights <= most * (1 + kTie) * left * right) continue;
    const double old_level = all.mean + before / left, new_level = all.mean - before / right;
    if (!admissible(data, at, old_level, new_level)) continue;
    most = before * before * nights / (left * right);
    best.at = at;
    best.old_level = old_level;
    best.new_level = new_level;
  }
  if (best.at > 0) judge(best, data, std::max(0.0, all.squares - most), least_sd);
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
