#include "nsa/run_tables/claims.hpp"

#include "catch.hpp"
#include "cells.hpp"
#include "nsa/run_tables/grids.hpp"

namespace nsa::test {
namespace {

using namespace run_tables;

/// The ladder at one length, whose steps took so many ms.
std::vector<Cell> ladder_of(const std::vector<std::vector<double>>& ms) {
  std::vector<Cell> cells;
  const auto asked = ladder_grid({512}, 1);
  REQUIRE(asked.size() == ms.size());
  for (std::size_t i = 0; i < ms.size(); ++i) {
    cells.push_back(cell_of("", ms[i]));
    cells.back().asked = asked[i];
  }
  return cells;
}

}  // namespace

TEST_CASE("each step is judged against the step before it", "[reports]") {
  const auto cells = ladder_of({{100, 100}, {50, 50}, {25, 25}, {25, 25}, {10, 10}, {9, 9}});
  const auto claims = claims_of(cells);
  REQUIRE(claims.size() == 6);
  CHECK(claims[1].step->value == Approx(2));
  CHECK(std::string(kept(claims[1])) == "not kept");  // 10x to 20x was claimed
  CHECK(std::string(kept(claims[2])) == "kept");      // 2x
  CHECK(std::string(kept(claims[3])) == "not kept");
  CHECK(claims[4].all->value == Approx(10));
  CHECK(std::string(kept(claims[0])) == "-");
}

TEST_CASE("a claim within the interval is unclear", "[reports]") {
  const auto cells = ladder_of({{10, 10}, {5, 5}, {2, 3}, {1, 1}, {1, 1}, {1, 1}});
  CHECK(std::string(kept(claims_of(cells)[2])) == "unclear");
}

TEST_CASE("switches of the ladder add up, and its last step has none", "[reports]") {
  const auto grid = ladder_grid({512, 2048}, 1);
  REQUIRE(grid.size() == 12);
  CHECK(setting_text(grid[1]).find("NSA_USE_FA2=1") != std::string::npos);
  CHECK(setting_text(grid[1]).find("NSA_USE_FA2=0") == std::string::npos);
  CHECK(setting_text(grid[3]).find("NSA_USE_FA2=1") != std::string::npos);
  CHECK(setting_text(grid[3]).find("NSA_USE_SEL_PACK") == std::string::npos);
  CHECK(setting_text(grid[5]).empty());
  CHECK(grid[6].seq_len == 2048);
}

}  // namespace nsa::test
