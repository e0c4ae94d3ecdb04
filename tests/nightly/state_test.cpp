// States and the exit code.
#include <limits>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

std::vector<double> clean(std::size_t nights, std::uint64_t seed = 1) {
  World world(seed);
  return world.nights(nights, Noise::independent);
}

/// 40 nights; the last `after` of them 6 SD higher.
Series stepped(std::size_t after, const std::string& name = "a") {
  std::vector<double> y = clean(40, 9);
  for (std::size_t i = 40 - after; i < 40; ++i) y[i] += 6;
  return series_of(y, 0.01, name);
}

Series without_last(Series series, std::size_t nights) {
  for (std::size_t i = series.nights.size() - nights; i < series.nights.size(); ++i)
    series.nights[i].values.clear();
  return series;
}

}  // namespace

TEST_CASE("a recent step for the worse exits 1, one before the window is listed and exits 0") {
  const Report recent = judge({stepped(8)}, {});
  CHECK(recent.exit_code == 1);
  CHECK(recent.series[0].regression);
  Options narrow;
  narrow.window = 5;
  const Report old = judge({stepped(8)}, narrow);
  CHECK(old.exit_code == 0);
  CHECK(old.series[0].state == State::ok);
  CHECK(old.series[0].changes.size() == 1);
}

TEST_CASE("the direction that is better decides what a step is") {
  Options options;
  options.better = Better::higher;
  CHECK(judge({stepped(8)}, options).exit_code == 0);
  CHECK(judge_one(stepped(8), options).state == State::improvement);
  options.better = Better::both;
  CHECK(judge({stepped(8)}, options).exit_code == 1);
}

TEST_CASE("the last night alone is suspect and exits 0, for the better it is nothing") {
  const Report report = judge({stepped(1)}, {});
  CHECK(report.series[0].state == State::suspect);
  CHECK(report.series[0].changes.empty());
  CHECK(report.exit_code == 0);
  Options higher;
  higher.better = Better::higher;
  CHECK(judge_one(stepped(1), higher).state == State::ok);
}

TEST_CASE("a step that was taken back is listed and no longer red") {
  std::vector<double> y = clean(50, 3);
  for (std::size_t i = 38; i < 44; ++i) y[i] += 7;
  const Report report = judge({series_of(y)}, {});
  REQUIRE(report.series[0].changes.size() == 2);
  CHECK(report.series[0].changes[0].reverted);
  CHECK(report.exit_code == 0);
}

TEST_CASE("a series that has no value tonight is missing, removed or failed") {
  const Series other = series_of(clean(40, 2), 0.01, "b");
  Options strict;
  strict.fail_on_missing = true;
  CHECK(judge({other, without_last(stepped(20), 1)}, {}).series[1].state == State::missing);
  CHECK(judge({other, without_last(stepped(20), 1)}, {}).exit_code == 0);
  CHECK(judge({other, without_last(stepped(20), 1)}, strict).exit_code == 4);
  CHECK(judge({other, without_last(stepped(20), 7)}, strict).series[1].state == State::removed);
  CHECK(judge({other, without_last(stepped(20), 7)}, strict).exit_code == 0);
  Series failed = without_last(stepped(20), 1);
  failed.nights.back().failure = "out of memory";
  const Report report = judge({other, failed}, {});
  CHECK(report.series[1].state == State::failed);
  CHECK(report.series[1].reason == "out of memory");
}

TEST_CASE("a regression stays red on a night without a value, and missing ones come first") {
  const std::vector<Series> series{series_of(clean(40, 2), 0.01, "b"), without_last(stepped(8), 1)};
  CHECK(judge(series, {}).exit_code == 1);
  const std::string reason = judge(series, {}).series[1].reason;
  CHECK_THAT(reason, Catch::Matchers::Matches("no value since .*; before that \\+.* since .*"));
  Options strict;
  strict.fail_on_missing = true;
  CHECK(judge(series, strict).exit_code == 4);
}

TEST_CASE("nights that other series have and one has not count as missing") {
  Series shorter = stepped(20);
  shorter.nights.resize(39);
  const Series other = series_of(clean(40, 2), 0.01, "b");
  CHECK(judge({other, shorter}, {}).series[1].state == State::missing);
}

TEST_CASE("a series is new on its first night, and warming up to its seventh") {
  const Series other = series_of(clean(40, 2), 0.01, "b");
  for (std::size_t nights = 1; nights < 7; ++nights) {
    Series late = stepped(20);
    late.nights.erase(late.nights.begin(), late.nights.end() - static_cast<long>(nights));
    const Report report = judge({other, late}, {});
    CAPTURE(nights);
    CHECK(report.series[1].state == (nights == 1 ? State::fresh : State::warming_up));
    CHECK(report.series[1].missing_nights == 7 - static_cast<std::int64_t>(nights));
    CHECK(report.exit_code == 0);
  }
}

TEST_CASE("nothing to judge exits 3: no series, no value tonight, or too few nights") {
  CHECK(judge({}, {}).exit_code == 3);
  CHECK(judge({series_of(clean(6))}, {}).exit_code == 3);
  CHECK(judge({without_last(series_of(clean(30)), 1)}, {}).exit_code == 3);
  CHECK(judge({series_of(clean(7))}, {}).exit_code == 0);
}

TEST_CASE("names twice and options out of range are broken contracts") {
  Options no_window;
  no_window.window = 0;
  CHECK_THROWS_AS(judge({stepped(1), stepped(2)}, {}), ContractError);
  CHECK_THROWS_AS(judge({stepped(1)}, no_window), ContractError);
}

TEST_CASE("five pairs of both builds confirm or clear the last alert") {
  Options options;
  options.confirmations = {{"a", {{100, 106}, {101, 107}, {99, 105}, {100, 105}, {100, 107}}}};
  const Report confirmed = judge({stepped(1)}, options);
  CHECK(confirmed.exit_code == 1);
  CHECK(confirmed.series[0].state == State::confirmed);
  REQUIRE(confirmed.series[0].changes.size() == 1);
  CHECK(confirmed.series[0].changes[0].index == 39);
  options.confirmations = {{"a", {{100, 101}, {101, 100}, {99, 99}, {100, 101}, {100, 99}}}};
  CHECK(judge_one(stepped(1), options).state == State::cleared);
  CHECK(judge({stepped(8)}, options).exit_code == 0);
  CHECK(judge_one(stepped(8), options).state == State::cleared);
}

TEST_CASE("a confirmed change has half of the size, in its direction, four pairs say nothing") {
  Options options;
  options.confirmations = {{"a", {{100, 102}, {100, 102}, {100, 102}, {100, 102}, {100, 102}}}};
  CHECK(judge_one(stepped(8), options).state == State::cleared);
  options.confirmations = {{"a", {{100, 94}, {100, 94}, {100, 95}, {100, 94}, {100, 94}}}};
  CHECK(judge_one(stepped(8), options).state == State::cleared);
  options.confirmations = {{"a", {{100, 100}, {100, 100}, {100, 100}, {100, 100}}}};
  CHECK(judge_one(stepped(8), options).state == State::confirmed);
}

}  // namespace nsa::test
