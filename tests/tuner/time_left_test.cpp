// The time left of a sweep, against sweeps whose times are known.
#include "pool/time_left.hpp"

#include "catch.hpp"

using namespace nsa::tuner;

namespace {

Contest contest(const std::string& stage, double estimated_s) {
  Contest contest;
  contest.stages = {stage};
  contest.estimated_s = estimated_s;
  return contest;
}

/// Estimates that are wrong by another factor for each stage, and say nothing of a fixed part.
double true_s(const Contest& c) {
  return 0.4 + c.estimated_s * (c.stages[0] == "score" ? 3.0 : 0.5);
}

}  // namespace

TEST_CASE("after a quarter of a sweep the time left is within 20 %", "[tuner]") {
  std::vector<Contest> contests;
  for (double length = 0.05; length < 20; length *= 2) {
    contests.push_back(contest("score", length));
    contests.push_back(contest("ranges", length));
  }
  TimeLeft left;
  double total_s = 0, spent_s = 0;
  for (const Contest& c : contests) {
    left.add(c);
    total_s += true_s(c);
  }
  CHECK_FALSE(left.left_s().has_value());
  for (std::size_t i = 0; i < contests.size(); ++i) {
    left.spend(i, true_s(contests[i]) / 2);
    left.spend(i, true_s(contests[i]) / 2);
    left.finish(i, true);
    spent_s += true_s(contests[i]);
    if (spent_s < total_s / 4 || i + 1 == contests.size()) continue;
    INFO(i << ": " << spent_s << " of " << total_s);
    CHECK(*left.left_s() == Approx(total_s - spent_s).epsilon(0.2));
  }
  CHECK(*left.left_s() == 0);
}

TEST_CASE("what a process of several took tells the rest of its contest", "[tuner]") {
  // Estimates grow with the length, and the worker takes as long for each.
  TimeLeft left;
  for (const double estimated_s : {1.0, 2.0, 4.0, 8.0, 16.0})
    left.add(contest("score", estimated_s));
  left.spend(0, 1);
  left.reach(0, 0.5);
  CHECK(*left.left_s() == Approx(1 + 2 * (2 + 4 + 8 + 16)));
  for (std::size_t i = 1; i < 5; ++i) {
    left.spend(i, 1);
    left.reach(i, 0.5);
  }
  CHECK(*left.left_s() == Approx(5));
  left.spend(0, 1);
  left.finish(0, true);
  CHECK(*left.left_s() == Approx(4));
  left.spend(1, 0.25);
  CHECK(*left.left_s() == Approx(3.75));
}

TEST_CASE("what no contest took is left for each that is left", "[tuner]") {
  TimeLeft left;
  for (int i = 0; i < 4; ++i) left.add(contest("score", 1));
  left.expect_more(0.5);
  left.spend(0, 2);
  left.finish(0, true);
  CHECK(left.spent_s() == Approx(2));
  CHECK(*left.left_s(1) == Approx(6 + 4 + 1 * (3 + 2)));
  for (std::size_t i = 1; i < 4; ++i) {
    left.spend(i, 2);
    left.finish(i, true);
  }
  CHECK(*left.left_s(4) == Approx(4 + 4.0 / 4 * 2));
}

TEST_CASE("contests that a resume passes over tell nothing of the rest", "[tuner]") {
  TimeLeft left;
  for (int i = 0; i < 3; ++i) left.add(contest("score", 1));
  left.finish(0, false);
  CHECK_FALSE(left.left_s().has_value());
  left.spend(1, 4);
  left.finish(1, true);
  CHECK(*left.left_s() == Approx(4));
  left.spend(2, 1);
  CHECK(*left.left_s() == Approx(3));
  left.spend(2, 9);
  CHECK(*left.left_s() == 0);
}

TEST_CASE("what will be added counts until it is there, and once", "[tuner]") {
  TimeLeft left;
  for (int i = 0; i < 4; ++i) left.add(contest("score", 1));
  left.expect_more(0.5);
  left.spend(0, 2);
  left.finish(0, true);
  CHECK(*left.left_s() == Approx(6 + 4));
  for (std::size_t i = 1; i < 4; ++i) {
    left.spend(i, 2);
    left.finish(i, true);
  }
  CHECK(*left.left_s() == Approx(4));
  left.add(contest("score", 1));
  CHECK(*left.left_s() == Approx(4));  // 2 of it are known now
  left.spend(4, 2);
  left.finish(4, true);
  CHECK(*left.left_s() == Approx(2));
  for (int i = 0; i < 3; ++i) left.add(contest("score", 1));
  CHECK(*left.left_s() == Approx(6));  // more than was expected
}
