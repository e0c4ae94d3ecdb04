// Paired ratios, and when a contest is decided.
#include <set>

#include "catch.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa::tuner;
using namespace sim;

TEST_CASE("a linear drift cancels in A B B A", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(10)}};
  s.samples = s.rounds = s.processes = 1;
  s.noise = [](std::size_t, std::size_t i, std::size_t) {
    return 1 + 0.01 * static_cast<double>(i);
  };
  const auto report = sim::decide(s);
  const auto& evidence = report.table.classes.at(0).decisions.at(0).ranges.at(0).evidence;
  CHECK(std::abs(std::log(evidence.median_ratio.value())) < 3e-4);
}

TEST_CASE("a row without samples counts by its median and one with neither not at all",
          "[decide]") {
  Measurement stored, zero;
  stored.median_ns = 2000;
  zero.samples = {{.start_ns = 0, .device_ns = 0, .host_ns = 0, .cycles = {}}};
  const Observations rows(std::vector<Measurement>{stored, zero});
  CHECK(rows.rows().at(0).log_ns == Approx(std::log(2000.0)));
  CHECK(std::isnan(rows.rows().at(1).log_ns));
}

TEST_CASE("rows share their problem, variant and texts", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(10)}};
  s.lengths = {128, 256};
  const Observations rows(measure(s));
  std::set<const nsa::Problem*> problems;
  std::set<const nsa::VariantId*> variants;
  for (const Observation& row : rows.rows()) {
    problems.insert(row.problem);
    variants.insert(row.variant);
  }
  CHECK(problems.size() == 2);
  CHECK(variants.size() == 2);
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
