// What a file says of the boards of one model that it was decided from.
#include "catch.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/json.hpp"

using namespace sim;

namespace {

/// Rows of one board, on which b takes that many times as long as a.
std::vector<Measurement> rows_on(const std::string& board, double times, double sigma = 0.002,
                                 std::vector<std::int64_t> lengths = {512, 1024, 2048}) {
  const std::uint64_t seed = std::hash<std::string>()(board);
  Session s;
  s.variants = {{"a", linear(10)}, {"b", [=](double n) { return linear(10)(n) * times; }}};
  s.lengths = std::move(lengths);
  s.rounds = 4;
  s.run_id = "run_" + board;
  s.noise = white(sigma, seed);
  auto rows = measure(s, seed);
  for (Measurement& row : rows) row.placement = {{"host", board}};
  return rows;
}

nsa::tuner::DecideReport decide_boards(const std::vector<std::vector<Measurement>>& boards) {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(10)}};
  std::vector<Measurement> rows;
  for (const auto& one : boards) rows.insert(rows.end(), one.begin(), one.end());
  return nsa::tuner::decide(input_of(s, rows));
}

const nsa::ThresholdRange& only_range(const nsa::tuner::DecideReport& report) {
  const auto& ranges = report.table.classes.at(0).decisions.at(0).ranges;
  REQUIRE(ranges.size() == 1);
  return ranges[0];
}

}  // namespace

TEST_CASE("a range says how far its lead differs between boards", "[decide]") {
  const auto report =
      decide_boards({rows_on("one", 1.1), rows_on("two", 1.3), rows_on("three", 1.2)});
  const nsa::ThresholdRange& range = only_range(report);
  CHECK(range.variant == id("a"));
  REQUIRE(range.evidence.boards);
  CHECK(range.evidence.boards->boards == 3);
  CHECK(*range.evidence.boards->ratio_low == Approx(1 / 1.3).epsilon(0.005));
  CHECK(*range.evidence.boards->ratio_high == Approx(1 / 1.1).epsilon(0.005));
  CHECK(range.evidence.boards->dissenting.empty());
  CHECK(report.compared == 1);
  CHECK(report.disputed == 0);
}

TEST_CASE("a board that would run another variant is named, with what it loses", "[decide]") {
  const auto report =
      decide_boards({rows_on("one", 1.2), rows_on("two", 1.2), rows_on("slow", 1 / 1.1)});
  const nsa::ThresholdRange& range = only_range(report);
  CHECK(range.variant == id("a"));
  REQUIRE(range.evidence.boards);
  REQUIRE(range.evidence.boards->dissenting.size() == 1);
  const nsa::DissentingBoard& slow = range.evidence.boards->dissenting[0];
  CHECK(slow.board == "slow");
  CHECK(slow.variant == "attend_selected/b");
  CHECK(slow.ratio == Approx(1.1).epsilon(0.005));
  CHECK(slow.lengths == 3);
  CHECK(report.disputed == 1);
  const std::string text = dump_thresholds(report.table);
  CHECK(nsa::parse_thresholds(text, "t.json") == report.table);
}

TEST_CASE("boards that cancel in the decision for all are in dispute, not a tie", "[decide]") {
  const auto report = decide_boards({rows_on("one", 1.1), rows_on("two", 1 / 1.1)});
  const auto& boards = only_range(report).evidence.boards;
  REQUIRE(boards);
  CHECK(*boards->ratio_low < 0.95);
  CHECK(*boards->ratio_high > 1.05);
  CHECK(boards->dissenting.size() == 1);
}

TEST_CASE("boards that differ by noise alone are in no dispute", "[decide]") {
  int disputed = 0;
  for (int world = 0; world < 40; ++world) {
    const std::string name = std::to_string(world);
    const auto report = decide_boards(
        {rows_on(name + "a", 1, 0.01), rows_on(name + "b", 1, 0.01), rows_on(name + "c", 1, 0.01)});
    disputed += report.disputed > 0 ? 1 : 0;
  }
  CHECK(disputed <= 1);
}

TEST_CASE("what one board measured alone is compared with nobody", "[decide]") {
  CHECK_FALSE(only_range(decide_boards({rows_on("one", 1.2)})).evidence.boards);
  // From 4096 on b is the faster one, and board two was never asked.
  auto longer = rows_on("one", 0.5, 0.002, {4096, 8192});
  auto shorter = rows_on("one", 1.5);
  shorter.insert(shorter.end(), longer.begin(), longer.end());
  const auto report = decide_boards({shorter, rows_on("two", 1.5)});
  const auto& ranges = report.table.classes.at(0).decisions.at(0).ranges;
  REQUIRE(ranges.size() >= 2);
  CHECK(ranges.front().evidence.boards);
  CHECK_FALSE(ranges.back().evidence.boards);
  CHECK(report.compared == 1);
}
