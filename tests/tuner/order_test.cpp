#include "pool/order.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

using nsa::tuner::round_order;
using nsa::tuner::rows_to_verify;

TEST_CASE("a round visits every slot once on the way there and once on the way back", "[tuner]") {
  for (std::int64_t round = 0; round < 50; ++round) {
    const auto order = round_order(1, "contest", 0, round, 5);
    REQUIRE(order.size() == 10);
    CHECK(std::set<std::size_t>(order.begin(), order.begin() + 5).size() == 5);
    CHECK(std::equal(order.begin(), order.end(), order.rbegin()));
  }
}

TEST_CASE("a linear drift gives every slot of a round the same mean place", "[tuner]") {
  const auto order = round_order(3, "contest", 1, 2, 7);
  for (std::size_t slot = 0; slot < 7; ++slot) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) sum += order[i] == slot ? i : 0;
    CHECK(sum == order.size() - 1);
  }
}

TEST_CASE("the order differs between rounds and is the same when asked again", "[tuner]") {
  std::set<std::vector<std::size_t>> seen;
  for (std::int64_t round = 0; round < 20; ++round) {
    const auto order = round_order(1, "contest", 0, round, 6);
    CHECK(order == round_order(1, "contest", 0, round, 6));
    seen.insert(order);
  }
  CHECK(seen.size() > 10);
  CHECK(round_order(1, "contest", 0, 0, 6) != round_order(1, "contest", 1, 0, 6));
}

TEST_CASE("each slot is first about equally often", "[tuner]") {
  std::vector<int> first(4);
  for (std::int64_t round = 0; round < 4000; ++round)
    ++first[round_order(9, "c", 0, round, 4).front()];
  for (const int count : first) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("rows to verify hold both sides of block boundaries, and the first and last row",
          "[tuner]") {
  const auto rows = rows_to_verify(200, {0}, 64, 16, 1);
  REQUIRE(rows.size() == 16);
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  for (const std::int64_t row : {0, 63, 64, 127, 128, 191, 192, 199})
    CHECK(std::count(rows.begin(), rows.end(), row) == 1);
}

TEST_CASE("rows to verify are bounded, and all of them when there are few", "[tuner]") {
  CHECK(rows_to_verify(1'000'000, {0}, 64, 16, 1).size() == 16);
  CHECK(rows_to_verify(5, {0}, 64, 16, 1) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(rows_to_verify(0, {0}, 64, 16, 1).empty());
  CHECK(rows_to_verify(100, {0}, 64, 0, 1).empty());
}

TEST_CASE("many boundaries still leave room for random rows, other ones for another seed",
          "[tuner]") {
  const auto one = rows_to_verify(65536, {0}, 64, 32, 1);
  const auto other = rows_to_verify(65536, {0}, 64, 32, 2);
  CHECK(one != other);
  CHECK(one.back() == 65535);
  const auto is_edge = [](std::int64_t row) { return row % 64 == 0 || row % 64 == 63; };
  CHECK(std::count_if(one.begin(), one.end(), is_edge) >= 20);
  CHECK(std::count_if(one.begin(), one.end(), is_edge) < 32);
}
