// The p of a split, over nights without a change.
#include "catch.hpp"
#include "series/null_table.hpp"
#include "series/split.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

TEST_CASE("p of the best split is no smaller than it says, at every length") {
  constexpr int kSeries = 20000;
  World world(7);
  for (const std::size_t nights : {8u, 15u, 23u, 30u, 60u, 180u}) {
    int under_5 = 0, under_1 = 0;
    for (int i = 0; i < kSeries; ++i) {
      const Split split = best_split_of_series(world.nights(nights, Noise::independent));
      const double p = chance_of_split(nights, split.t);
      under_5 += p < 0.05;
      under_1 += p < 0.01;
    }
    CAPTURE(nights);
    CHECK(under_5 / (0.05 * kSeries) == Approx(1).margin(0.12));
    CHECK(under_1 / (0.01 * kSeries) == Approx(1).margin(0.25));
  }
}

TEST_CASE("the null table is that of the splits as they are made today") {
  constexpr std::size_t kDraws = 20000, kColumn = 7;  // p = 0.01
  World world(11);
  for (const NullRow& row : null_rows()) {
    if (row.nights != 8 && row.nights != 20 && row.nights != 60) continue;
    std::size_t over = 0;
    for (std::size_t i = 0; i < kDraws; ++i)
      over += best_split_of_series(world.nights(row.nights, Noise::independent)).t > row.t[kColumn];
    CAPTURE(row.nights);
    CHECK(static_cast<double>(over) / kDraws == Approx(0.01).epsilon(0.25));
  }
}

TEST_CASE("the null table rises with t and falls nowhere") {
  for (const NullRow& row : null_rows())
    for (std::size_t c = 1; c < kTableColumns; ++c) CHECK(row.t[c] >= row.t[c - 1]);
  for (const std::size_t nights : {4u, 5u, 9u, 16u, 31u, 100u, 400u, 5000u}) {
    double last = 1;
    for (double t = 0; t < 60; t += 0.37) {
      const double p = chance_of_split(nights, t);
      CAPTURE(nights, t);
      CHECK(p <= last);
      CHECK(p > 0);
      last = p;
    }
  }
}

TEST_CASE("tails far below the table go on as Student's t does") {
  CHECK(chance_of_split(30, 10) < 1e-8);
  CHECK(chance_of_split(30, 10) > 1e-13);
  CHECK(chance_of_split(180, 200) >= 1e-300);
  CHECK(critical_t(30, chance_of_split(30, 8)) == Approx(8).epsilon(1e-6));
}

TEST_CASE("no split where none can be: too few nights, or all the same") {
  for (const std::vector<double>& y :
       {std::vector<double>{}, {1}, {1, 2}, {1, 2, 3}, std::vector<double>(40, 5.0)}) {
    const Split split = best_split_of_series(y);
    CHECK(split.at == 0);
    CHECK(chance_of_split(y.size(), split.t) == 1);
  }
}

}  // namespace nsa::test
