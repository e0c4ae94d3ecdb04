#include <array>
#include <cmath>

#include "catch.hpp"
#include "cells.hpp"

namespace nsa::test {

using namespace run_tables;

TEST_CASE("a mean of logs has Student's interval", "[reports]") {
  const std::array logs{std::log(1.0), std::log(2.0), std::log(4.0)};
  const auto estimate = log_mean(logs);
  REQUIRE(estimate);
  CHECK(estimate->value == Approx(2));
  const double half = 4.302653 * std::log(2.0) / std::sqrt(3.0);  // t of 2 degrees, 97.5 %
  REQUIRE(estimate->interval);
  CHECK(estimate->interval->first == Approx(2 * std::exp(-half)).epsilon(1e-5));
  CHECK(estimate->interval->second == Approx(2 * std::exp(half)).epsilon(1e-5));
}

TEST_CASE("one process has a value and no interval, none has nothing", "[reports]") {
  CHECK_FALSE(step_ns(cell_of("x", {3}))->interval);
  CHECK(step_ns(cell_of("x", {3}))->value == Approx(3e6));
  CHECK_FALSE(step_ns(cell_of("x", {})));
  CHECK_FALSE(tokens_per_s(cell_of("x", {})));
}

TEST_CASE("tokens per second turn the interval of the step around", "[reports]") {
  const auto rate = tokens_per_s(cell_of("x", {1, 2}));
  REQUIRE(rate);
  CHECK(rate->value == Approx(512e3 / std::sqrt(2.0)));
  CHECK(rate->interval->first < rate->value);
  CHECK(rate->interval->second > rate->value);
}

TEST_CASE("cells are compared within rounds, so that a slow round disturbs no ratio", "[reports]") {
  const auto ratio = speedup(cell_of("x", {1, 10, 2}), cell_of("base", {2, 20, 4}));
  REQUIRE(ratio);
  CHECK(ratio->value == Approx(2));
  CHECK(ratio->interval->first == Approx(2));
  CHECK(ratio->interval->second == Approx(2));
}

TEST_CASE("a round that only one of two cells has is left out of their ratio", "[reports]") {
  Cell base = cell_of("base", {2, 2});
  base.process_ns[1].reset();
  const auto ratio = speedup(cell_of("x", {1, 100}), base);
  REQUIRE(ratio);
  CHECK(ratio->value == Approx(2));
  base.process_ns[0].reset();
  CHECK_FALSE(speedup(cell_of("x", {1, 1}), base));
}

TEST_CASE("a larger batch is as fast as its tokens per second", "[reports]") {
  Cell two = cell_of("batch 2", {2});
  two.tokens_per_step = 1024;
  CHECK(speedup(two, cell_of("batch 1", {1}))->value == Approx(1));
}

}  // namespace nsa::test
