// The dynamic programming against every table there is.
#include <random>

#include "catch.hpp"
#include "decide/ranges/cover.hpp"

using namespace nsa::tuner;

namespace {

std::size_t switches(const Table& table) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < table.size(); ++i) count += table[i] != table[i - 1];
  return count;
}

bool allowed(const CoverInput& input, const Table& table) {
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i] != table[i - 1] && !input.may_switch[i]) return false;
  }
  return true;
}

/// Least cost over all tables with so many switches at most.
double brute_force(const CoverInput& input, std::size_t max_switches) {
  const std::size_t variants = input.cost[0].size();
  double least = INFINITY;
  Table table(input.cost.size(), 0);
  for (;;) {
    if (switches(table) <= max_switches && allowed(input, table)) {
      least = std::min(least, cost_of(input, table));
    }
    std::size_t i = 0;
    while (i < table.size() && ++table[i] == variants) table[i++] = 0;
    if (i == table.size()) return least;
  }
}

}  // namespace

TEST_CASE("cheapest_tables is as cheap as the best of all tables", "[decide]") {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 40; ++trial) {
    CoverInput input;
    for (int i = 0; i < 6; ++i) {
      std::vector<double> cost;
      for (int v = 0; v < 3; ++v) cost.push_back(static_cast<double>(random() % 1000));
      input.cost.push_back(cost);
      input.may_switch.push_back(random() % 4 != 0);
    }
    const std::vector<Table> tables = cheapest_tables(input, 4);
    REQUIRE(tables.size() == 5);
    for (std::size_t s = 0; s < tables.size(); ++s) {
      CHECK(switches(tables[s]) <= s);
      CHECK(allowed(input, tables[s]));
      CHECK(cost_of(input, tables[s]) == brute_force(input, s));
    }
  }
}

TEST_CASE("among tables of equal cost the first variant wins", "[decide]") {
  const CoverInput input{{{1, 1}, {2, 2}}, {false, true}};
  CHECK(cheapest_tables(input, 1)[1] == Table{0, 0});
}
