// What series say together: environments, devices, false discoveries, groups.
#include <fmt/format.h>
#include <cmath>

#include "catch.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

/// 40 nights of a device; from night `at` on `size` SD higher.
Series on_device(int number, std::size_t at, double size, std::size_t nights = 40) {
  World world(static_cast<std::uint64_t>(number) + 50);
  std::vector<double> y = world.nights(nights, Noise::independent);
  for (std::size_t i = at; i < y.size(); ++i) y[i] += size;
  Series series = series_of(y, 0.01, fmt::format("s{}", number));
  series.device = "H100";
  series.variant = "packed";
  for (Night& night : series.nights) night.commit = fmt::format("c{:07}", night.index);
  return series;
}

/// A series whose environment is another one from night `seam` on.
Series with_seam(Series series, std::size_t seam) {
  for (std::size_t i = 0; i < series.nights.size(); ++i)
    series.nights[i].environment = i < seam ? "driver 1" : "driver 2";
  return series;
}

}  // namespace

TEST_CASE("a step at a seam of environments is one environment change and exits 0") {
  const Report report = judge({with_seam(on_device(1, 32, 6), 32)}, {});
  REQUIRE(report.series[0].changes.size() == 1);
  CHECK(report.series[0].changes[0].environment);
  CHECK(report.series[0].changes[0].index == 32);
  CHECK(report.series[0].state == State::environment);
  CHECK(report.exit_code == 0);
}

TEST_CASE("a seam without a step is no change") {
  CHECK(judge_one(with_seam(on_device(2, 40, 0), 30)).changes.empty());
}

TEST_CASE("a later step of the code is found beside the seam, with the level of its own epoch") {
  Series series = with_seam(on_device(3, 30, 6, 60), 30);
  for (std::size_t i = 50; i < 60; ++i) series.nights[i].values[0] *= std::exp(0.06);
  const Report report = judge({series}, {});
  REQUIRE(report.series[0].changes.size() == 2);
  CHECK(report.series[0].changes[0].environment);
  CHECK_FALSE(report.series[0].changes[1].environment);
  CHECK(std::abs(report.series[0].changes[1].index - 50) <= 1);
  CHECK(*report.series[0].changes[1].ratio == Approx(std::exp(0.06)).epsilon(0.015));
  CHECK(report.exit_code == 1);
}

TEST_CASE("most series of a device moving the same way are one environment alert") {
  std::vector<Series> series;
  for (int i = 0; i < 6; ++i) series.push_back(on_device(i, i < 4 ? 34 : 40, 6));
  const Report report = judge(series, {});
  CHECK(report.exit_code == 0);
  for (int i = 0; i < 4; ++i) {
    CHECK(report.series[static_cast<std::size_t>(i)].state == State::environment);
    CHECK(report.series[static_cast<std::size_t>(i)].changes[0].group ==
          report.series[0].changes[0].group);
  }
}

TEST_CASE("a neighbour that moved by a fraction of a step does not explain it") {
  std::vector<Series> series;
  for (int i = 0; i < 4; ++i) {
    series.push_back(on_device(i, 34, i < 2 ? 12 : 4));  // 12 % and 4 %
    for (Night& night : series.back().nights)
      night.binary = i < 2 && night.index >= 34 ? "new" : "old";
  }
  Report report = judge(series, {});
  CHECK(report.exit_code == 1);
  CHECK(report.series[0].state == State::confirmed);
  for (std::size_t i = 34; i < 40; ++i) series[2].nights[i].values[0] *= std::exp(0.04);
  report = judge(series, {});  // 8 % of 12 are more than half
  CHECK(report.series[0].state == State::environment);
}

TEST_CASE("what others did long before a step says nothing of it") {
  std::vector<Series> series;
  for (int i = 0; i < 5; ++i) series.push_back(on_device(i, i < 4 ? 15 : 37, 8));
  for (Series& one : series) {
    for (Night& night : one.nights) night.binary = "old";
  }
  for (std::size_t i = 37; i < 40; ++i) series[4].nights[i].binary = "new";
  const Report report = judge(series, {});
  CHECK(report.exit_code == 1);
  CHECK(report.series[4].state == State::confirmed);
}

TEST_CASE("a step of all series is of their code where all of them run new code") {
  std::vector<Series> series;
  for (int i = 0; i < 6; ++i) {
    series.push_back(on_device(i, 34, 6));
    for (Night& night : series.back().nights) night.binary = night.index < 34 ? "old" : "new";
  }
  CHECK(judge(series, {}).exit_code == 1);
  for (Night& night : series[0].nights) night.binary = "old";  // it moved all the same
  const Report report = judge(series, {});
  CHECK(report.exit_code == 0);
  CHECK(report.series[1].state == State::environment);
}

TEST_CASE("a step beside steps of new code is no environment's, its own code unknown") {
  std::vector<Series> series;
  for (int i = 0; i < 4; ++i) {
    series.push_back(on_device(i, i < 3 ? 34 : 40, 6));
    if (i == 1 || i == 2)
      for (Night& night : series.back().nights) night.binary = night.index < 34 ? "old" : "new";
  }
  CHECK(judge(series, {}).series[0].state == State::confirmed);
  CHECK(judge(series, {}).exit_code == 1);
}

TEST_CASE("fewer than half of a device, or series without a device, are regressions") {
  std::vector<Series> few, without;
  for (int i = 0; i < 6; ++i) {
    few.push_back(on_device(i, i < 3 ? 34 : 40, 6));
    without.push_back(on_device(i, 34, 6));
    without.back().device.clear();
  }
  CHECK(judge(few, {}).exit_code == 1);
  CHECK(judge(without, {}).exit_code == 1);
}

TEST_CASE("what moves with the canary of its device is its environment") {
  Series canary = on_device(20, 34, 4);
  canary.canary = true;
  const Series moved = on_device(21, 34, 6);
  CHECK(judge({canary, moved}, {}).exit_code == 0);
  CHECK(judge({canary, moved}, {}).series[1].state == State::environment);
  Series elsewhere = canary;
  elsewhere.device = "A100";
  CHECK(judge({elsewhere, moved}, {}).exit_code == 1);
}

TEST_CASE("a canary speaks for series of which nobody says on what device they ran") {
  Series canary = on_device(20, 34, 4), moved = on_device(21, 34, 6);
  canary.canary = true;
  canary.device.clear();
  moved.device.clear();
  CHECK(judge({canary, moved}, {}).exit_code == 0);
  CHECK(judge({canary, moved}, {}).series[1].state == State::environment);
  canary.canary = false;
  CHECK(judge({canary, moved}, {}).exit_code == 1);
}

TEST_CASE("the same machine code never regresses") {
  Series series = on_device(5, 34, 6);
  for (Night& night : series.nights) night.binary = "same";
  CHECK(judge({series}, {}).exit_code == 0);
  CHECK(judge_one(series).state == State::environment);
  for (std::size_t i = 34; i < 40; ++i) series.nights[i].binary = "new";
  CHECK(judge({series}, {}).exit_code == 1);
}

TEST_CASE("time that moved without cycles is the clock's") {
  Series series = on_device(6, 34, 6);
  for (Night& night : series.nights) night.cycles = {1e6};
  CHECK(judge_one(series).state == State::clock);
  CHECK(judge({series}, {}).exit_code == 0);
  for (std::size_t i = 34; i < 40; ++i) series.nights[i].cycles = {1.06e6};
  CHECK(judge({series}, {}).exit_code == 1);
}

TEST_CASE("q pays for every series of the night") {
  std::vector<Series> series{on_device(1, 35, 5)};
  const double alone = judge(series, {}).series[0].changes[0].q;
  for (int i = 2; i <= 100; ++i) series.push_back(on_device(i, 40, 0));
  const Change among = judge(series, {}).series[0].changes[0];
  CHECK(alone == among.p);
  CHECK(among.q == Approx(100 * among.p));
}

TEST_CASE("a step that is too weak for its family is suspect and not red") {
  std::vector<double> y(40);
  for (std::size_t i = 0; i < 40; ++i) y[i] = (i % 2 ? 1.0 : -1.0) + (i >= 36 ? 2.8 : 0);
  const Series weak = series_of(y, 0.01, "weak");
  CHECK(judge_one(weak).state == State::confirmed);
  std::vector<Series> series{weak};
  for (int i = 0; i < 1000; ++i)
    series.push_back(series_of(std::vector<double>(40), 0.01, fmt::format("s{}", i)));
  const Report report = judge(series, {});
  REQUIRE(report.series[0].changes.size() == 1);
  CHECK(report.series[0].changes[0].q > 0.05);
  CHECK(report.series[0].state == State::suspect);
  CHECK(report.exit_code == 0);
}

TEST_CASE("changes of a variant in one range of commits are one group") {
  std::vector<Series> series{on_device(1, 34, 7), on_device(2, 34, 7), on_device(3, 40, 0),
                             on_device(4, 40, 0), on_device(5, 34, 7)};
  series[4].variant = "masked";
  for (int i = 6; i < 12; ++i) series.push_back(on_device(i, 40, 0));
  const Report report = judge(series, {});
  REQUIRE(report.series[0].changes.size() == 1);
  const Change& c = report.series[0].changes[0];
  CHECK(c.first_commit == "c0000033");
  CHECK(c.last_commit == "c0000034");
  CHECK(c.group == "c0000033..c0000034 H100 packed");
  CHECK(report.series[1].changes[0].group == c.group);
  CHECK(report.series[4].changes[0].group != c.group);
}

TEST_CASE("steps that are found a night apart are one alert") {
  std::vector<Series> series{on_device(1, 34, 9), on_device(2, 35, 9), on_device(3, 37, 9)};
  for (int i = 6; i < 12; ++i) series.push_back(on_device(i, 40, 0));
  const Report report = judge(series, {});
  CHECK(report.series[0].changes[0].index == 34);
  CHECK(report.series[1].changes[0].index == 35);
  CHECK(report.series[1].changes[0].group == report.series[0].changes[0].group);
  CHECK(report.series[2].changes[0].group != report.series[0].changes[0].group);
}

}  // namespace nsa::test
