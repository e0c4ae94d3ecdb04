// The smallest step that is found, against simulated nights.
#include "nsa/nightly/power.hpp"

#include <cmath>

#include "catch.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

/// Nights with replicates: SD of the nights and of the replicates, in logs.
Series with_replicates(World& world, std::size_t nights, int replicates, double night_sd,
                       double replicate_sd, double step_from_30 = 0) {
  Series series = series_of(std::vector<double>(nights, 0.0));
  for (std::size_t i = 0; i < nights; ++i) {
    const double level = night_sd * world.normal() + (i >= 30 ? step_from_30 : 0);
    series.nights[i].values.clear();
    for (int r = 0; r < replicates; ++r)
      series.nights[i].values.push_back(std::exp(level + replicate_sd * world.normal()));
  }
  return series;
}

}  // namespace

TEST_CASE("four of five steps of the smallest size are found by their third night") {
  World world(3);
  double smallest = 0;
  constexpr int kSeries = 300;
  for (int i = 0; i < kSeries; ++i)
    smallest += *power_of({with_replicates(world, 30, 5, 0.01, 0.01)}, {})[0].smallest / kSeries;
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    const Series series = with_replicates(world, 33, 5, 0.01, 0.01, std::log1p(smallest));
    found += !judge_one(series).changes.empty();
  }
  CHECK(found / static_cast<double>(kSeries) == Approx(0.8).margin(0.08));
}

TEST_CASE("more replicates help where their noise is what hides a step, and only there") {
  World world(8);
  const Power noisy = power_of({with_replicates(world, 200, 3, 0.001, 0.03)}, {})[0];
  CHECK(*noisy.smallest > 0.03);
  REQUIRE(noisy.replicates_needed);
  CHECK(*noisy.replicates_needed > 5);
  CHECK(*noisy.replicates_needed < 60);
  const Power moody = power_of({with_replicates(world, 40, 3, 0.015, 0.001)}, {})[0];
  CHECK_FALSE(moody.replicates_needed);
  REQUIRE(moody.nights_needed);
  CHECK(*moody.nights_needed > 3);
}

TEST_CASE("the figures are absent where there are too few nights") {
  World world(9);
  const Power power = power_of({with_replicates(world, 6, 3, 0.01, 0.01)}, {})[0];
  CHECK(power.nights == 6);
  CHECK_FALSE(power.smallest);
}

}  // namespace nsa::test
