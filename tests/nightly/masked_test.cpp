// Steps that earlier levels hide: what rose and fell before is no reason to see less.
#include <cmath>
#include <cstdlib>
#include <utility>

#include "catch.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

constexpr double kSd = 0.002;
constexpr int kSeeds = 40;

/// Nights at one level, in SD.
using Stretch = std::pair<std::size_t, double>;
using Levels = std::vector<Stretch>;

std::vector<double> nights_at(const Levels& levels, Noise noise, std::uint64_t seed) {
  std::size_t count = 0;
  for (const auto& [nights, level] : levels) count += nights;
  std::vector<double> y = World(seed).nights(count, noise);
  auto night = y.begin();
  for (const auto& [nights, level] : levels)
    for (std::size_t i = 0; i < nights; ++i) *night++ += level;
  return y;
}

/// Whether the last `nights` are red, for a change within a night of where they begin.
bool is_raised(const std::vector<double>& y, std::size_t begin) {
  Options options;
  options.better = Better::both;
  const Verdict v = judge_one(series_of(y, kSd), options);
  if (!v.regression) return false;
  for (const Change& c : v.changes)
    if (!c.reverted && std::abs(c.index - static_cast<std::int64_t>(begin)) <= 1) return true;
  return false;
}

std::size_t last_step(const Levels& levels) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) begin += levels[i].first;
  return begin;
}

int raised(const Levels& levels, Noise noise) {
  int count = 0;
  for (int seed = 1; seed <= kSeeds; ++seed)
    count +=
        is_raised(nights_at(levels, noise, static_cast<std::uint64_t>(seed)), last_step(levels));
  return count;
}

/// A level 7 % higher that came back, and a step of 6 %.
const Levels kPulseAndStep{{20, 0}, {11, 34}, {16, 0}, {8, 29}};

}  // namespace

TEST_CASE("a step after a level that came back is found in every series") {
  CHECK(raised(kPulseAndStep, Noise::independent) == kSeeds);
  CHECK(raised(kPulseAndStep, Noise::autocorrelated) >= kSeeds - 1);
  CHECK(raised(kPulseAndStep, Noise::outliers) >= kSeeds - 1);
}

TEST_CASE("a step that was found is found on the nights after it") {
  const std::size_t begin = last_step(kPulseAndStep);
  int stay = 0, seen = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const auto y = nights_at(kPulseAndStep, Noise::independent, static_cast<std::uint64_t>(seed));
    bool found = false, vanished = false;
    for (std::size_t nights = begin + 1; nights <= y.size(); ++nights) {
      const auto end = y.begin() + static_cast<std::ptrdiff_t>(nights);
      const bool now = is_raised({y.begin(), end}, begin);
      vanished |= found && !now;
      found |= now;
    }
    seen += found;
    stay += found && !vanished;
  }
  CHECK(seen == kSeeds);
  CHECK(stay >= kSeeds - 1);
}

TEST_CASE("stairs, pulses up and down, and several pulses hide no step") {
  const Levels stairs{{20, 0}, {12, 20}, {12, 40}, {10, 10}};
  const Levels up_up_down_up{{15, 0}, {10, 15}, {10, 30}, {10, 0}, {6, 20}};
  const Levels other_way{{20, 0}, {10, 30}, {12, 0}, {8, -30}};
  const Levels two_pulses{{12, 0}, {8, 34}, {8, 0}, {9, 20}, {9, 0}, {6, 25}};
  const Levels three_pulses{{8, 0}, {6, 25}, {6, 0}, {6, 25}, {6, 0}, {6, 25}, {6, 0}, {5, 25}};
  const Levels small{{20, 0}, {11, 10}, {16, 0}, {8, 8}};
  for (const Levels& levels : {stairs, up_up_down_up, other_way, two_pulses, three_pulses, small}) {
    CAPTURE(levels.size(), levels.back().second);
    CHECK(raised(levels, Noise::independent) >= kSeeds - 1);
    CHECK(raised(levels, Noise::autocorrelated) >= kSeeds - 3);
    CHECK(raised(levels, Noise::outliers) >= kSeeds - 3);
  }
}

}  // namespace nsa::test
