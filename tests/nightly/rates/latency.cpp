#include <fmt/format.h>

#include <cstdlib>

#include "../worlds.hpp"
#include "figure.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

constexpr std::size_t kClean = 30;

/// Share of series in which a step of `size` SD was a change point within one night of its place,
/// on any of the `by` nights after it.
Figure found_by(double size, std::size_t by, double goal, Share share) {
  const std::size_t series = scaled(100000, share);
  World world(static_cast<std::uint64_t>(10 * size));
  std::size_t found = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> y = world.nights(kClean + by, Noise::independent);
    for (std::size_t i = kClean; i < y.size(); ++i) y[i] += size;
    bool hit = false;
    for (std::size_t n = kClean + 2; n <= y.size() && !hit; ++n) {
      const Series part = series_of({y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n)});
      for (const Change& c : judge_one(part).changes)
        hit |= std::abs(c.index - static_cast<std::int64_t>(kClean)) <= 1;
    }
    found += hit;
  }
  const double rate = static_cast<double>(found) / static_cast<double>(series);
  return {fmt::format("Step of {} SD after {} nights: change point by night {}, within one night; "
                      "{} series",
                      size, kClean, by, series),
          fmt::format("{:.2f}", goal), fmt::format("{:.4f}", rate), rate >= goal};
}

Figure suspect_on_night_one(Share share) {
  const std::size_t series = scaled(100000, share);
  World world(51);
  std::size_t suspect = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> y = world.nights(kClean + 1, Noise::independent);
    y.back() += 5;
    suspect += judge_one(series_of(y)).state == State::suspect;
  }
  const double rate = static_cast<double>(suspect) / static_cast<double>(series);
  return {fmt::format("Step of 5 SD after {} nights: suspect on its first night; {} series", kClean,
                      series),
          "0.90", fmt::format("{:.4f}", rate), rate >= 0.9};
}

Figure false_suspects(Share share) {
  const std::size_t series = scaled(33000, share);
  World world(52);
  std::size_t suspect = 0;
  for (std::size_t s = 0; s < series; ++s)
    suspect +=
        judge_one(series_of(world.nights(kClean + 1, Noise::independent))).state == State::suspect;
  const double rate = static_cast<double>(suspect) / static_cast<double>(series);
  return {fmt::format("False suspects a night; {} series-nights", series * (kClean + 1)),
          "0.0015 or less", fmt::format("{:.4f}", rate), rate <= 0.0015};
}

Figure drift_by_25(const char* name, Noise noise, Share share) {
  constexpr std::size_t kBy = 25;
  const std::size_t series = scaled(5000, share);
  World world(static_cast<std::uint64_t>(noise) + 25);
  std::size_t raised = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> y = world.nights(kClean + kBy, noise);
    for (std::size_t i = kClean; i < y.size(); ++i)
      y[i] += 0.2 * static_cast<double>(i + 1 - kClean);
    bool drift = false;
    for (std::size_t n = kClean + 10; n <= y.size() && !drift; ++n) {
      const std::vector<double> part(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n));
      drift = judge_one(series_of(part, 0.005)).state == State::drift;
    }
    raised += drift;
  }
  const double rate = static_cast<double>(raised) / static_cast<double>(series);
  return {fmt::format("Drift of .1 % a night at an SD of .5 %: raised by night {}, {}; {} series",
                      kBy, name, series),
          "0.90", fmt::format("{:.3f}", rate), rate >= 0.9};
}

}  // namespace

std::vector<Figure> latency_figures(Share share) {
  return {suspect_on_night_one(share),
          false_suspects(share),
          found_by(5, 2, 0.95, share),
          found_by(3, 5, 0.84, share),
          drift_by_25("independent nights", Noise::independent, share),
          drift_by_25("lag-1 correlation .4", Noise::autocorrelated, share)};
}

}  // namespace nsa::test
