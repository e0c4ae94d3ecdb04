// Paired ratios, clocks and when a contest is decided.
#include "catch.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/error.hpp"
#include "pairs.hpp"

using namespace nsa::tuner;
using namespace sim;

namespace {

Measurement visit(std::int64_t ns, std::optional<std::int64_t> cycles = {}) {
  Measurement row;
  row.samples = {{.start_ns = 0, .device_ns = ns, .host_ns = ns, .cycles = cycles}};
  return row;
}

using Visits = std::vector<const Measurement*>;

double ratio_of(const Visits& arm, const Visits& reference) {
  return log_ratio(make_arm(arm).value(), make_arm(reference).value());
}

}  // namespace

TEST_CASE("a linear drift cancels in A B B A", "[decide]") {
  const Measurement a1 = visit(1000), b1 = visit(1010), b2 = visit(1020), a2 = visit(1030);
  CHECK(std::abs(ratio_of({&b1, &b2}, {&a1, &a2})) < 2e-4);
  CHECK(std::abs(ratio_of({&b1}, {&a1})) > 9e-3);
}

TEST_CASE("arms at different clocks are compared in cycles too", "[decide]") {
  const Measurement fast = visit(1000, 2000), slow_clock = visit(2000, 2000);
  CHECK(ratio_of({&slow_clock}, {&fast}) == 0);  // all of the gap is the clock's
  const Measurement both = visit(2000, 3000);    // 2x in time, 1.5x in cycles
  CHECK(ratio_of({&both}, {&fast}) == Approx(std::log(1.5)));
  const Measurement against = visit(2000, 1000);  // slower in time, fewer cycles: no verdict
  CHECK(ratio_of({&against}, {&fast}) == 0);
  const Measurement same = visit(2000, 4010);  // clocks within 2 %: time decides
  CHECK(ratio_of({&same}, {&fast}) == Approx(std::log(2.0)));
  const Measurement unread = visit(2000);
  CHECK(ratio_of({&unread}, {&fast}) == Approx(std::log(2.0)));
}

TEST_CASE("a row without samples counts by its median and one with neither not at all",
          "[decide]") {
  const Measurement a = visit(1000), zero = visit(0);
  Measurement stored;
  stored.median_ns = 2000;
  CHECK(ratio_of({&stored}, {&a}) == Approx(std::log(2.0)));
  CHECK_FALSE(make_arm({&zero}).has_value());
}

TEST_CASE("the 95 % interval of a paired ratio covers the truth about that often", "[decide]") {
  std::mt19937_64 random(17);
  std::normal_distribution<> normal;
  const int trials = 600;
  for (const std::int64_t blocks : {4, 8, 16}) {
    int covered = 0;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> ratios;
      std::vector<std::int64_t> ids;
      for (std::int64_t b = 0; b < blocks; ++b) {
        ratios.push_back(0.01 + 0.005 * normal(random));
        ids.push_back(b);
      }
      const PairedRatio r = paired_ratio(ratios, ids, 0.95, 200, random());
      covered += r.low <= 0.01 && 0.01 <= r.high;
    }
    INFO(blocks << " blocks: " << covered << " of " << trials);
    CHECK(covered >= 0.93 * trials);
    CHECK(covered <= 0.999 * trials);
  }
}

TEST_CASE("one block has no interval, and bad arguments are refused", "[decide]") {
  const PairedRatio one = paired_ratio({0.1, 0.2}, {7, 7}, 0.95, 100, 1);
  CHECK(one.median == Approx(0.15));
  CHECK(one.low == -INFINITY);
  CHECK(one.high == INFINITY);
  CHECK(one.pairs == 2);
  const std::vector<double> none, single{1};
  const std::vector<std::int64_t> no_ids, two_ids{1, 2};
  CHECK_THROWS_AS(paired_ratio(none, no_ids, 0.95, 100, 1), nsa::ContractError);
  CHECK_THROWS_AS(paired_ratio(single, two_ids, 0.95, 100, 1), nsa::ContractError);
}

TEST_CASE("a contest with nothing measured or nothing shared is not decided", "[decide]") {
  CHECK_FALSE(contest_decided({}, 0.003, 1));
  CHECK_FALSE(contest_decided({{{0.0}, {3.0}}, {{0}, {1}}}, 0.003, 1));
}
