// The dynamic programming against every assignment there is.
#include <random>

#include "catch.hpp"
#include "decide/ranges/segmentation.hpp"

using namespace nsa::tuner;

namespace {

std::size_t switches(const Assignment& assignment) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < assignment.size(); ++i) count += assignment[i] != assignment[i - 1];
  return count;
}

bool allowed(const SegmentationInput& input, const Assignment& assignment) {
  for (std::size_t i = 1; i < assignment.size(); ++i) {
    if (assignment[i] != assignment[i - 1] && !input.may_switch[i]) return false;
  }
  return true;
}

/// Least cost over all tables with so many switches at most.
double brute_force(const SegmentationInput& input, std::size_t max_switches) {
  const std::size_t variants = input.cost[0].size();
  double least = INFINITY;
  Assignment assignment(input.cost.size(), 0);
  for (;;) {
    if (switches(assignment) <= max_switches && allowed(input, assignment)) {
      least = std::min(least, cost_of(input, assignment));
    }
    std::size_t i = 0;
    while (i < assignment.size() && ++assignment[i] == variants) assignment[i++] = 0;
    if (i == assignment.size()) return least;
  }
}

}  // namespace

TEST_CASE("cheapest_assignments is as cheap as the best of all tables", "[decide]") {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 40; ++trial) {
    SegmentationInput input;
    for (int i = 0; i < 6; ++i) {
      std::vector<double> cost;
      for (int v = 0; v < 3; ++v) cost.push_back(static_cast<double>(random() % 1000));
      input.cost.push_back(cost);
      input.may_switch.push_back(random() % 4 != 0);
    }
    const std::vector<Assignment> tables = cheapest_assignments(input, 4);
    REQUIRE(tables.size() == 5);
    for (std::size_t s = 0; s < tables.size(); ++s) {
      CHECK(switches(tables[s]) <= s);
      CHECK(allowed(input, tables[s]));
      CHECK(cost_of(input, tables[s]) == brute_force(input, s));
    }
  }
}

TEST_CASE("among tables of equal cost the first variant wins", "[decide]") {
  const SegmentationInput input{{{1, 1}, {2, 2}}, {false, true}};
  CHECK(cheapest_assignments(input, 1)[1] == Assignment{0, 0});
}
