#include "nsa/run_tables/eta.hpp"

#include <array>

#include "catch.hpp"
#include "cells.hpp"

namespace nsa::test {

using namespace run_tables;

TEST_CASE("hours, cost and what a wrong switch adds follow from the step", "[reports]") {
  const std::array cells{cell_of("tuned", {3600}), cell_of("wrong", {7200})};
  const EtaPlan plan{.steps = 1000, .limit_hours = 1.5, .price_per_device_hour = 2, .devices = 4};
  const auto etas = etas_of(cells, plan);
  CHECK(*etas[0].hours == Approx(1));
  CHECK(*etas[0].cost == Approx(8));
  CHECK_FALSE(etas[0].extra_hours);
  CHECK(*etas[1].extra_hours == Approx(1));
  CHECK(*etas[1].extra_cost == Approx(8));
}

TEST_CASE("forward passes can rule a training out, but never in", "[reports]") {
  const std::array cells{cell_of("tuned", {3600}), cell_of("wrong", {7200})};
  const auto etas =
      etas_of(cells, {.steps = 1000, .limit_hours = 1.5, .price_per_device_hour = {}});
  CHECK(etas[0].forward == Go::go);
  CHECK(etas[0].training == Go::not_measured);
  CHECK(etas[1].forward == Go::no_go);
  CHECK(etas[1].training == Go::no_go);
}

TEST_CASE("a setting without a time has no verdict and says why", "[reports]") {
  Cell slow = cell_of("wrong", {});
  slow.status = Status::timeout;
  slow.reason = "over 30 s";
  const std::array cells{cell_of("tuned", {1}), slow};
  const auto etas = etas_of(cells, {});
  CHECK_FALSE(etas[1].hours);
  CHECK(etas[1].forward == Go::not_measured);
  CHECK(etas[1].reason == "timeout: over 30 s");
}

TEST_CASE("the users' 39 tok/s make 50,000 steps two months, and no go", "[reports]") {
  const Eta eta = eta_of_training(39, 2 * 2048, {});
  CHECK(*eta.hours == Approx(50'000 * 4096 / 39.0 / 3600));
  CHECK(eta.training == Go::no_go);
  CHECK(eta.forward == Go::not_measured);
}

}  // namespace nsa::test
