#include "nsa/nightly/noise.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/schemas/median.hpp"

namespace nsa::nightly {
namespace {

constexpr std::size_t kAround = 3;  // nights on either side
constexpr double kSpike = 5, kNormal = 3;

/// Changes the order of `values`, of which there is one at least.
double median_in_place(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// Medians of the three nights before one that is not the last of its epoch, and of the three after
/// it; for the first night both are of those after.
struct Sides {
  double before = 0, after = 0;
};

Sides sides_of(std::span<const double> data, std::size_t begin, std::size_t at, std::size_t end) {
  const double after = median_of(data.subspan(at + 1, std::min(kAround, end - at - 1)));
  const std::size_t earlier = std::min(kAround, at - begin);
  return {earlier == 0 ? after : median_of(data.subspan(at - earlier, earlier)), after};
}

/// Calls visit(begin, end) for each epoch.
template <typename Visit>
void each_epoch(std::size_t size, std::span<const std::size_t> epochs, Visit visit) {
  for (std::size_t e = 0; e < epochs.size(); ++e)
    visit(epochs[e], e + 1 < epochs.size() ? epochs[e + 1] : size);
}

bool is_spike(std::span<const double> data, std::size_t begin, std::size_t at, std::size_t end,
              double noise) {
  const bool first = at == begin;
  // Cheap, and true of nearly every night: as far from a neighbour as no spike can be near.
  const double apart = (kSpike - kNormal) * noise;
  if (!first && std::abs(data[at] - data[at - 1]) < apart) return false;
  if (std::abs(data[at] - data[at + 1]) < apart) return false;
  const auto [before, after] = sides_of(data, begin, at, end);
  // Beside a step one of the two is near, and the night no spike.
  const bool high = data[at] > std::max(before, after) + kSpike * noise;
  const bool low = data[at] < std::min(before, after) - kSpike * noise;
  return (high || low) && (first || std::abs(data[at - 1] - before) <= kNormal * noise) &&
         std::abs(data[at + 1] - after) <= kNormal * noise;
}

}  // namespace

double median_of(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double difference_noise(std::span<const double> data, std::span<const std::size_t> epochs) {
  std::vector<double> differences;
  differences.reserve(data.size());
  each_epoch(data.size(), epochs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin + 1; i < end; ++i)
      differences.push_back(std::abs(data[i] - data[i - 1]));
  });
  if (differences.empty()) return 0;
  return kToSigma * median_in_place(differences) / std::sqrt(2.0);
}

std::vector<std::size_t> isolated_spikes(std::span<const double> data,
                                         std::span<const std::size_t> epochs, double noise) {
  std::vector<std::size_t> spikes;
  if (noise <= 0) return spikes;
  each_epoch(data.size(), epochs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i + 1 < end; ++i)
      if (is_spike(data, begin, i, end, noise)) spikes.push_back(i);
  });
  return spikes;
}

std::vector<double> without_spikes(std::span<const double> data,
                                   std::span<const std::size_t> epochs,
                                   std::span<const std::size_t> spikes) {
  std::vector<double> smooth(data.begin(), data.end());
  each_epoch(data.size(), epochs, [&](std::size_t begin, std::size_t end) {
    for (const std::size_t at : spikes) {
      if (at < begin || at >= end) continue;
      // The nearer side: beside a step the nights of both together lie between the levels.
      const auto [before, after] = sides_of(data, begin, at, end);
      const double y = data[at];
      smooth[at] = std::abs(before - y) <= std::abs(after - y) ? before : after;
    }
  });
  return smooth;
}

}  // namespace nsa::nightly
