#include "playback/noise.hpp"

#include <algorithm>
#include <cmath>

namespace nsa::tuner::playback {
namespace {

constexpr std::size_t kSettledAfter = 8;  // runs of a series: those after made its unit

double lasting_clock(const ClockModel& clock, std::int64_t launch) {
  double factor = std::pow(1 + clock.drift_percent / 100, 1e-3 * static_cast<double>(launch));
  for (const ClockStep& step : clock.steps) factor *= launch >= step.at ? step.factor : 1;
  return factor;
}

double boost_of(const Boost& boost, std::int64_t launch) {
  if (launch >= boost.launches) return 1;
  const double gone = static_cast<double>(launch) / static_cast<double>(boost.launches);
  return 1 + boost.faster * (1 - gone);
}

void throttle(const ClockModel& clock, std::int64_t launch, LaunchState& state) {
  for (const Throttled& stretch : clock.throttled) {
    if (launch < stretch.from || launch >= stretch.to) continue;
    state.clock *= stretch.factor;
    state.throttle += (state.throttle.empty() ? "" : ",") + stretch.reason;
  }
}

/// Log-normal with median 1.
double log_normal(double sigma, std::uint64_t k) { return std::exp(sigma * normal(k)); }

}  // namespace

LaunchNoise::LaunchNoise(const World& world, std::uint64_t process, std::int64_t first_launch)
    : world_(world), process_(process), first_launch_(first_launch) {}

std::uint64_t LaunchNoise::draw(Stream stream) const noexcept {
  return key(world_.seed, stream, process_, launch_);
}

/// The next value of an AR(1) process that is stationary from its first one on.
double LaunchNoise::wander() {
  const auto& [sigma, lag1] = *world_.clock.correlated;
  const double fresh = sigma * normal(draw(Stream::correlated));
  wander_ = launch_ == 0 ? fresh : lag1 * wander_ + std::sqrt(1 - lag1 * lag1) * fresh;
  return std::exp(wander_);
}

/// A process plays one series from its start; where that ends, settled parts of others follow.
void LaunchNoise::play_recorded(LaunchState& state) {
  const Recorded& recorded = *world_.noise.recorded;
  auto at = static_cast<std::size_t>(launch_);
  std::uint64_t part = 0;
  const Series* series = nullptr;
  while (true) {
    const std::uint64_t k = key(world_.seed, Stream::recorded, process_, part);
    series = &recorded.series[k % recorded.series.size()];
    if (at < series->size()) break;
    at -= series->size();
    ++part;
    at += std::min(kSettledAfter, series->size() - 1);
  }
  const auto window = static_cast<std::size_t>(recorded.clock_window);
  const double slow = local_median(*series, at, window);
  state.clock /= slow;
  state.factor *= (*series)[at] / slow;
}

LaunchState LaunchNoise::next() {
  const ClockModel& clock = world_.clock;
  const NoiseModel& noise = world_.noise;
  LaunchState state;
  state.clock = lasting_clock(clock, first_launch_ + launch_);
  throttle(clock, first_launch_ + launch_, state);
  if (clock.boost) state.clock *= boost_of(*clock.boost, launch_);
  if (clock.correlated) state.clock *= wander();
  if (noise.white_sigma > 0) state.factor *= log_normal(noise.white_sigma, draw(Stream::white));
  if (noise.outliers && uniform(draw(Stream::outlier)) < noise.outliers->share)
    state.factor *= noise.outliers->factor;
  if (noise.recorded) play_recorded(state);
  ++launch_;
  return state;
}

double process_effect(const World& world, const PlayedVariant& variant, std::uint64_t process) {
  if (variant.process_sigma <= 0) return 1;
  return log_normal(variant.process_sigma,
                    key(world.seed, Stream::process_effect, process, text_key(variant.name)));
}

double handle_effect(const World& world, const PlayedVariant& variant, std::uint64_t process,
                     std::int64_t handle) {
  if (variant.handle_sigma <= 0) return 1;
  return log_normal(variant.handle_sigma, key(world.seed, Stream::handle_effect, process, handle,
                                              text_key(variant.name)));
}

std::optional<std::int64_t> cycles_of(const World& world, const PlayedVariant& variant, double ns,
                                      double clock) {
  constexpr double kLargestLie = 0.1;
  if (world.clock.cycles == Cycles::none) return std::nullopt;
  double cycles = 1e-3 * ns * world.clock.base_mhz * clock;
  if (world.clock.cycles == Cycles::lying) {
    const auto k = key(world.seed, Stream::lying_cycles, text_key(variant.name));
    cycles *= 1 + kLargestLie * (2 * uniform(k) - 1);
  }
  return std::llround(cycles);
}

}  // namespace nsa::tuner::playback
