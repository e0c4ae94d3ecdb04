#include "nsa/schemas/median.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "nsa/schemas/text.hpp"

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

TEST_CASE("an interval that says nothing is not known", "[schemas]") {
  CHECK(nsa::format_interval(0.97, 1.04) == "[0.97, 1.04]");
  CHECK(nsa::format_interval(1e-3, 9.9) == "[0.001, 9.9]");
  CHECK(nsa::format_interval(1.9e-09, 4.57e+10) == "[not known]");
  CHECK(nsa::format_interval(0, 1) == "[not known]");
  CHECK(nsa::format_interval(NAN, 1) == "[not known]");
}
