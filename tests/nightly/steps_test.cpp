// Change points of single series.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// `nights` without a change, then a step of `size` SD.
std::vector<double> with_step(World& world, std::size_t nights, std::size_t after, double size) {
  std::vector<double> y = world.nights(nights + after, Noise::independent);
  for (std::size_t i = nights; i < y.size(); ++i) y[i] += size;
  return y;
}

}  // namespace

TEST_CASE("a step of five SD is found at its night, with its size") {
  World world(1);
  const Verdict v = judge_one(series_of(with_step(world, 30, 8, 5)));
  REQUIRE(v.changes.size() == 1);
  const Change& c = v.changes[0];
  CHECK(c.index == 30);
  CHECK(c.time == "30");
  CHECK(c.up);
  REQUIRE(c.ratio);
  CHECK(*c.ratio == Approx(std::exp(0.05)).epsilon(0.01));
  CHECK(c.interval.first < *c.ratio);
  CHECK(c.interval.second > *c.ratio);
  CHECK(c.p < 1e-6);
  CHECK(v.state == State::confirmed);
}

TEST_CASE("a night that stands out just before a step stays on its side of it") {
  World world(3);
  std::vector<double> y = with_step(world, 25, 6, 60);
  y[24] = -8;
  const Verdict v = judge_one(series_of(y));
  REQUIRE(v.changes.size() == 1);
  CHECK(v.changes[0].index == 25);
}

TEST_CASE("each of several steps is found once, up and down") {
  World world(2);
  std::vector<double> y = world.nights(90, Noise::independent);
  for (std::size_t i = 30; i < 60; ++i) y[i] += 6;
  const Verdict v = judge_one(series_of(y));
  REQUIRE(v.changes.size() == 2);
  CHECK(v.changes[0].up);
  CHECK(v.changes[0].reverted);
  CHECK_FALSE(v.changes[1].up);
  CHECK(std::abs(v.changes[1].index - 60) <= 1);
  CHECK(v.state != State::confirmed);
}

TEST_CASE("stairs, and a short level that came back, are two steps each") {
  int more = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    World world(seed);
    std::vector<double> stairs = world.nights(80, Noise::independent), pulse = stairs;
    for (std::size_t i = 30; i < 80; ++i) stairs[i] += i < 60 ? 6 : 12;
    for (std::size_t i = 60; i < 66; ++i) pulse[i] += 7;
    for (const auto& y : {stairs, pulse}) {
      const std::size_t changes = judge_one(series_of(y)).changes.size();
      CAPTURE(seed);
      CHECK(changes >= 2);
      more += changes > 2;
    }
  }
  CHECK(more <= 3);
}

TEST_CASE("a step without any noise is found by its fourth night") {
  std::vector<double> y(20, 100.0);
  y.insert(y.end(), 4, 110.0);
  const Verdict v = judge_one(series_of_values(y));
  REQUIRE(v.changes.size() == 1);
  CHECK(v.changes[0].index == 20);
  CHECK(*v.changes[0].ratio == Approx(1.1));
}

TEST_CASE("a step between two constant levels is found, however large") {
  for (const double factor : {1.05, 2.0, 10.0, 1000.0}) {
    CAPTURE(factor);
    Series series;
    series.name = "x";
    for (std::int64_t i = 0; i < 30; ++i) {
      Night& night = series.nights.emplace_back();
      night.index = i;
      night.values = {i < 20 ? 5.0 : 5.0 * factor};
    }
    const Report report = judge({series}, {});
    CHECK(report.exit_code == 1);
    REQUIRE(report.series[0].changes.size() == 1);
    CHECK(report.series[0].changes[0].index == 20);
  }
}

TEST_CASE("nothing is found in series that say nothing") {
  const std::vector<double> toggling{5, 6, 5, 6, 5, 5, 6, 6, 5, 6, 5, 6, 6, 5, 5, 6, 5, 6, 5, 6};
  std::vector<double> one_glitch(30, 3.0);
  one_glitch[12] = 4;
  for (const auto& values : {std::vector<double>(30, 7.0), std::vector<double>(30, 0.0), toggling,
                             one_glitch, std::vector<double>(30, kNone)})
    CHECK(judge_one(series_of_values(values)).changes.empty());
}

TEST_CASE("series of a few points warm up, whatever they hold") {
  for (std::size_t n = 0; n < 7; ++n) {
    std::vector<double> values(n, 1.0);
    if (n > 3) values[n - 1] = 100;
    const Report r = judge({series_of_values(values)}, {});
    CAPTURE(n);
    CHECK(r.series[0].state == State::warming_up);
    CHECK(r.series[0].missing_nights == 7 - static_cast<std::int64_t>(n));
    CHECK(r.exit_code == 3);
  }
}

TEST_CASE("missing nights are no values, and taking some away makes no change") {
  int changes = 0;
  for (int seed = 0; seed < 200; ++seed) {
    World world(static_cast<std::uint64_t>(seed));
    std::vector<double> y = world.nights(60, Noise::independent);
    for (double& value : y)
      if (world.uniform() < 0.2) value = kNone;
    y.back() = 0;
    changes += static_cast<int>(judge_one(series_of(y)).changes.size());
  }
  CHECK(changes <= 2);
}

TEST_CASE("infinite values and NaN are none, and one good replicate is a night") {
  World world(4);
  Series plain = series_of(with_step(world, 30, 6, 6));
  Series broken = plain;
  for (Night& night : broken.nights) {
    night.values.push_back(std::numeric_limits<double>::infinity());
    night.values.insert(night.values.begin(), kNone);
  }
  CHECK(judge_one(broken).changes.size() == 1);
  CHECK(judge_one(broken).changes[0].p == judge_one(plain).changes[0].p);
}

TEST_CASE("values that are not all positive are taken on a linear scale") {
  World world(5);
  std::vector<double> y = with_step(world, 30, 10, 8);
  const Verdict v = judge_one(series_of_values(y));
  REQUIRE(v.changes.size() == 1);
  CHECK_FALSE(v.changes[0].ratio);
  REQUIRE(v.changes[0].delta);
  CHECK(*v.changes[0].delta == Approx(8).margin(1.5));
}

TEST_CASE("a step under one per cent is none, and one of exactly one per cent is") {
  std::vector<double> small(40, 1000.0), exact(40, 1000.0);
  for (std::size_t i = 0; i < 40; ++i) {
    small[i] += i % 2 ? 0.5 : 0;
    exact[i] += i % 2 ? 0.5 : 0;
    if (i >= 20) small[i] += 9;
    if (i >= 20) exact[i] *= 1.01;
  }
  CHECK(judge_one(series_of_values(small)).changes.empty());
  CHECK(judge_one(series_of_values(exact)).changes.size() == 1);
}

TEST_CASE("a lone night is a spike and no change, two high nights at the end are a change") {
  World world(6);
  std::vector<double> y = world.nights(40, Noise::independent);
  y[35] += 12;
  const Verdict alone = judge_one(series_of(y));
  CHECK(alone.changes.empty());
  CHECK(alone.state == State::spike);
  const Verdict block = judge_one(series_of(with_step(world, 30, 2, 9)));
  REQUIRE(block.changes.size() == 1);
  CHECK(block.changes[0].index == 30);
}

TEST_CASE("a short side is a level only where all of its nights moved") {
  World world(12);
  std::vector<double> y = world.nights(33, Noise::independent);
  for (const std::size_t at : {30u, 32u}) y[at] = 8;
  y[31] = 0.2;
  CHECK(judge_one(series_of(y)).changes.empty());
  y[31] = 8;
  CHECK(judge_one(series_of(y)).changes.size() == 1);
}

TEST_CASE("values that differ in their last bits are the same to the timer") {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back((i % 2 ? 0.3 : 0.1 + 0.2) * (i < 20 ? 1 : 1.1));
  CHECK(judge_one(series_of_values(values)).changes.size() == 1);
}

TEST_CASE("two values that take turns have the noise of their difference") {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(i % 2 ? 100.0 : 103.0);
  values[20] = 106;
  CHECK(judge_one(series_of_values(values)).state == State::ok);
}

TEST_CASE("a drift is one drift, by night 25 of 30, and red") {
  int raised = 0;
  for (int seed = 0; seed < 100; ++seed) {
    World world(static_cast<std::uint64_t>(seed));
    std::vector<double> y = world.nights(55, Noise::independent);
    for (std::size_t i = 30; i < y.size(); ++i) y[i] += 0.2 * static_cast<double>(i - 29);
    const Verdict v = judge_one(series_of(y, 0.005));
    if (v.state != State::drift) continue;
    ++raised;
    CHECK(v.regression);
    REQUIRE_FALSE(v.changes.empty());
    CHECK(*v.changes.back().ratio == Approx(1.025).margin(0.012));
  }
  CHECK(raised >= 90);
}

TEST_CASE("some high nights at the end are no drift") {
  int drifts = 0;
  for (int seed = 0; seed < 200; ++seed) {
    World world(static_cast<std::uint64_t>(seed) + 3000);
    std::vector<double> y = world.nights(40, Noise::independent);
    y[34] += 8;
    y[37] += 10;
    y.back() += 12;
    drifts += judge_one(series_of(y)).state == State::drift;
  }
  CHECK(drifts <= 2);
}

TEST_CASE("a step long ago is no drift") {
  int drifts = 0;
  for (int seed = 0; seed < 200; ++seed) {
    World world(static_cast<std::uint64_t>(seed) + 1000);
    drifts += judge_one(series_of(with_step(world, 30, 14, 4))).state == State::drift;
  }
  CHECK(drifts <= 4);
}

}  // namespace nsa::test
