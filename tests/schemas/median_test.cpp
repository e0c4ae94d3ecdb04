#include "nsa/schemas/median.hpp"

#include <cstdint>
#include <limits>

#include "catch.hpp"

using nsa::median;

TEST_CASE("a median is the value in the middle, whatever the order", "[schemas]") {
  CHECK(median(std::vector<double>{3}) == 3);
  CHECK(median(std::vector<double>{9, -1, 4}) == 4);
  CHECK(median(std::vector<std::int64_t>{5, 5, 1, 7, 2}) == 5);
}

TEST_CASE("a median of an even count lies half way between the two in the middle", "[schemas]") {
  CHECK(median(std::vector<double>{4, 1, 100, 2}) == 3);
  CHECK(median(std::vector<std::int64_t>{4, 1, 100, 2}) == 3);
  CHECK(median(std::vector<std::int64_t>{5, 2}) == 3);  // 3.5, rounded towards the smaller
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(median(std::vector<std::int64_t>{kMost, kMost - 2}) == kMost - 1);  // their sum overflows
}

TEST_CASE("a median of nothing is a broken contract", "[schemas]") {
  CHECK_THROWS_AS(median(std::vector<double>{}), nsa::ContractError);
}
