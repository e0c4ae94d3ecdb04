// Pairs until it is certain: few where the step stands out, more where it does not.
#include "nsa/nightly/sequential.hpp"

#include <cmath>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "worlds.hpp"

namespace nsa::test {

using nightly::SequentialTest;
using nightly::Side;

namespace {

/// Pairs of a candidate `shift` SD slower than good, until the test of a step of `step` SD ends.
std::size_t pairs_until(SequentialTest& test, World& world, double shift, std::size_t most) {
  while (test.side() == Side::unknown && test.pairs() < most)
    test.add(0.01 * (shift + world.normal() - world.normal()));
  return test.pairs();
}

}  // namespace

TEST_CASE("three pairs decide where the step stands out, more where it is small", "[nightly]") {
  World world(3);
  for (const double shift : {0.0, 5.0}) {
    SequentialTest large(0.05, 0.0141);
    CHECK(pairs_until(large, world, shift, 100) <= 6);
    CHECK(large.side() == (shift > 0 ? Side::bad : Side::good));
  }
  std::size_t pairs = 0;
  for (int i = 0; i < 100; ++i) {
    SequentialTest small(0.01, 0.0141);
    pairs += pairs_until(small, world, 1, 1000);
  }
  CHECK(pairs > 100 * 15);
  CHECK(pairs < 100 * 60);
}

TEST_CASE("a verdict of the sequential test is wrong once in hundreds", "[nightly]") {
  World world(4);
  for (const double step : {1.0, 2.0, 5.0}) {
    std::size_t wrong = 0;
    for (int i = 0; i < 2000; ++i) {
      SequentialTest test(0.01 * step, 0.0141);
      const bool slow = i % 2 == 0;
      pairs_until(test, world, slow ? step : 0, 1000);
      wrong += test.side() != (slow ? Side::bad : Side::good);
    }
    INFO(step);
    CHECK(wrong <= 10);
  }
}

TEST_CASE("two outliers do not decide, and noise that nobody expected asks for more pairs",
          "[nightly]") {
  SequentialTest test(0.05, 0.01);
  test.add(0.9);
  test.add(0.9);
  CHECK(test.side() == Side::unknown);
  SequentialTest noisy(0.05, 0.001);
  World world(5);
  for (int i = 0; i < 4; ++i) noisy.add(0.2 * world.normal());
  CHECK(noisy.side() == Side::unknown);
}

TEST_CASE("a step down is looked for as one up is", "[nightly]") {
  SequentialTest test(-0.1, 0.01);
  for (int i = 0; i < 3; ++i) test.add(-0.1);
  CHECK(test.side() == Side::bad);
  SequentialTest same(-0.1, 0.01);
  for (int i = 0; i < 3; ++i) same.add(0.01);
  CHECK(same.side() == Side::good);
}

TEST_CASE("what no pair can say has no likely side", "[nightly]") {
  SequentialTest test(0.1, 0.05);
  CHECK(test.likely_side() == Side::unknown);
  test.add(0.05);
  CHECK(test.likely_side() == Side::unknown);
  for (int i = 0; i < 2; ++i) test.add(0.1);
  CHECK(test.side() == Side::unknown);
  CHECK(test.likely_side() == Side::bad);
  CHECK_THROWS_AS(SequentialTest(0, 1), ContractError);
}

}  // namespace nsa::test
