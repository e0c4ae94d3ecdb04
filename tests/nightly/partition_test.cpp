// Several steps at once, and the noise that they are measured by.
#include <cmath>

#include "catch.hpp"
#include "nsa/nightly/noise.hpp"
#include "series/partition.hpp"
#include "series/split.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

/// Levels 30 SD apart: 10 nights up, 10 nights down.
std::vector<double> battlements(World& world, std::size_t nights, Noise noise) {
  std::vector<double> y = world.nights(nights, noise);
  for (std::size_t i = 0; i < nights; ++i) y[i] += i / 10 % 2 ? 30 : 0;
  return y;
}

}  // namespace

TEST_CASE("steps do not look like autocorrelation in differences") {
  double independent = 0, autocorrelated = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    World world(seed);
    independent += autocorrelation(battlements(world, 100, Noise::independent), 30) / 50;
    autocorrelated += autocorrelation(battlements(world, 100, Noise::autocorrelated), 30) / 50;
  }
  CHECK(independent < 0.1);
  CHECK(autocorrelated == Approx(0.4).margin(0.1));
}

TEST_CASE("each step of many is proposed at its night") {
  World world(5);
  CHECK(best_partition(battlements(world, 60, Noise::independent), 1, 1e-3) ==
        std::vector<std::size_t>{10, 20, 30, 40, 50});
}

TEST_CASE("few series without a change have two steps proposed") {
  constexpr std::size_t kEpoch[] = {0};
  const auto proposed = [&](Noise noise) {
    int count = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const std::vector<double> y = World(seed).nights(60, noise);
      count += best_partition(y, difference_noise(y, kEpoch), 1e-3).size() > 1;
    }
    return count;
  };
  CHECK(proposed(Noise::independent) <= 2);
  CHECK(proposed(Noise::autocorrelated) <= 20);
}

TEST_CASE("nothing is proposed of few nights, nor without noise, and a year is no limit") {
  World world(6);
  CHECK(best_partition(std::vector<double>{0, 0, 9, 9, 0}, 1, 1e-3).empty());
  CHECK(best_partition(battlements(world, 60, Noise::independent), 0, 1e-3).empty());
  std::vector<double> y = world.nights(800, Noise::independent);
  for (std::size_t i = 780; i < 790; ++i) y[i] += 20;
  CHECK(best_partition(y, 1, 1e-3) == std::vector<std::size_t>{780, 790});
}

}  // namespace nsa::test
