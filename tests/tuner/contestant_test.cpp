// Who still competes in a contest, and whether it needs another round.
#include "pool/contestant.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "catch.hpp"
#include "decide_support.hpp"
#include "pool/rows.hpp"

using namespace nsa::tuner;
using namespace sim;

namespace {

constexpr double kEpsilon = 0.003;

nsa::MeasurePolicy policy_with(double give_up_ratio) {
  nsa::MeasurePolicy policy;
  policy.give_up_ratio = give_up_ratio;
  return policy;
}
const nsa::MeasurePolicy kNobodyGivenUp = policy_with(1000);

/// The contestants of a session of one length, after the visits of its rows.
std::vector<Contestant> contestants_of(const Session& s, std::uint64_t seed = 1) {
  std::vector<Contestant> contestants(s.variants.size());
  for (std::size_t v = 0; v < contestants.size(); ++v)
    contestants[v].candidate.id = id(s.variants[v].first);
  if (s.control) contestants.push_back(control_of(contestants[0]));
  const auto slots = static_cast<std::int64_t>(contestants.size());
  for (Measurement& row : measure(s, seed)) {
    nsa::worker::MeasuredReply reply;
    reply.samples = row.samples;
    take_samples(row, std::move(reply));
    const auto of_row = [&](const Contestant& c) {
      return c.candidate.id == row.variant && c.control == row.control;
    };
    std::ranges::find_if(contestants, of_row)
        ->add_visit({row.process, row.round, row.position / slots}, row);
  }
  return contestants;
}

Session two_variants(double difference, double sigma, std::int64_t rounds) {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", [=](double n) { return linear(10)(n) * difference; }}};
  s.lengths = {1024};
  s.rounds = rounds;
  s.noise = white(sigma, 1);
  return s;
}

bool decided(const std::vector<Contestant>& contestants) {
  return contest_decided(state_of(contestants, kNobodyGivenUp), kEpsilon, 1);
}

}  // namespace

TEST_CASE("a contest ends when the intervals leave or stay within epsilon", "[tuner]") {
  CHECK(decided(contestants_of(two_variants(1.05, 0.003, 4))));        // clearly slower
  CHECK(decided(contestants_of(two_variants(1.0, 0.0002, 4))));        // clearly equal
  CHECK_FALSE(decided(contestants_of(two_variants(1.004, 0.02, 2))));  // too noisy to say
}

TEST_CASE("after one block only a factor of two is decided", "[tuner]") {
  const auto one_block = [](double difference) {
    Session s = two_variants(difference, 0, 1);
    s.processes = 1;
    return decided(contestants_of(s));
  };
  CHECK(one_block(3.0));
  CHECK_FALSE(one_block(1.5));
}

TEST_CASE("a contest with nothing measured or nothing shared is not decided", "[tuner]") {
  std::vector<Contestant> contestants(2);
  CHECK_FALSE(decided(contestants));
  Measurement row;
  row.median_ns = 1000;
  contestants[0].add_visit({0, 0, 0}, row);
  row.median_ns = 20'000;
  contestants[1].add_visit({0, 1, 0}, row);
  CHECK_FALSE(decided(contestants));
}

TEST_CASE("the reference of a contest is one that ran when the first failed", "[tuner]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(10)}, {"c", linear(30)}};
  s.lengths = {1024};
  auto contestants = contestants_of(s);
  contestants[0].out = true;
  const ContestState state = state_of(contestants, kNobodyGivenUp);
  REQUIRE(state.log_ratios.size() == 2);  // a is not among them
  CHECK(state.log_ratios[0] == std::vector<double>(8, 0.0));
  CHECK(state.log_ratios[1].size() == 8);
  CHECK(contest_decided(state, kEpsilon, 1));
}

TEST_CASE("both halves of a round are one block, and each is paired for itself", "[tuner]") {
  Session s = two_variants(1.5, 0, 2);
  const ContestState state = state_of(contestants_of(s), kNobodyGivenUp);
  REQUIRE(state.blocks.size() == 2);
  for (const auto& blocks : state.blocks) {
    REQUIRE(blocks.size() == 8);  // processes, rounds, halves
    CHECK(std::set<std::int64_t>(blocks.begin(), blocks.end()).size() == 4);
    for (std::size_t i = 0; i < blocks.size(); i += 2) CHECK(blocks[i] == blocks[i + 1]);
  }
  for (const double ratio : state.log_ratios[1]) CHECK(ratio == Approx(std::log(1.5)));
}

namespace {

/// Pairs of a first variant, which is the reference, and of others.
ContestState pairs(const std::vector<std::vector<double>>& others) {
  ContestState state;
  std::size_t most = 0;
  for (const auto& one : others) most = std::max(most, one.size());
  state.log_ratios.emplace_back(most, 0.0);
  for (const auto& one : others) {
    auto& logs = state.log_ratios.emplace_back();
    for (const double ratio : one) logs.push_back(std::log(ratio));
  }
  for (const auto& one : state.log_ratios) {
    auto& blocks = state.blocks.emplace_back();
    for (std::size_t i = 0; i < one.size(); ++i) blocks.push_back(static_cast<std::int64_t>(i / 2));
  }
  return state;
}
bool loses(const std::vector<double>& ratios, const std::vector<double>& beside) {
  return is_clear_loser(pairs({ratios, beside}), 1);
}
const std::vector<double> kQuiet{1.101, 1.099, 1.1, 1.1}, kNoisy{1.0, 1.06, 1.01, 1.08};

}  // namespace

TEST_CASE("a clear loser is slower in every pair, by much or beyond the noise", "[tuner]") {
  CHECK(loses({1.16, 1.2, 1.16}, kQuiet));         // three pairs, 15 % at least
  CHECK_FALSE(loses({1.22, 3.9}, kQuiet));         // two pairs, of which one is off
  CHECK_FALSE(loses({1.14, 1.2, 1.2}, kQuiet));    // less than 15 % once
  CHECK(loses({1.05, 1.05, 1.05, 1.05}, kQuiet));  // four pairs, beyond 3 % and the noise
  CHECK_FALSE(loses({1.05, 1.05, 1.05}, kQuiet));
  CHECK_FALSE(loses({1.05, 1.05, 1.05, 1.05}, kNoisy));
  CHECK_FALSE(loses({1.031, 1.032, 1.031, 1.033}, kQuiet));  // within four standard errors
  CHECK_FALSE(loses({1.02, 1.3, 1.3, 1.3}, kQuiet));         // one pair says otherwise
  CHECK_FALSE(loses({1.3, 1.3, 1.3, 0.9}, kQuiet));
  CHECK_FALSE(is_clear_loser(pairs({kQuiet, kQuiet}), 0));  // the best
  CHECK_FALSE(is_clear_loser({{{}, {}}, {{}, {}}}, 1));     // nobody has a pair
}

TEST_CASE("identical variants under noise lose no race", "[tuner]") {
  int lost = 0, raced = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Session s = two_variants(1.0, 0.02, 6);
    s.processes = 1;
    const auto contestants = contestants_of(s, seed);
    nsa::MeasurePolicy policy = kNobodyGivenUp;
    policy.race = true;
    for (const Contestant& one : contestants)
      lost += why_beaten(one, contestants, policy, 0).has_value();
    ++raced;
  }
  CHECK(raced == 200);
  CHECK(lost == 0);
}

TEST_CASE("a baseline that is faster ends no contest of those that may be chosen", "[tuner]") {
  Session s;
  s.variants = {{"dense", linear(10)}, {"a", linear(50)}, {"b", linear(50.1)}};
  s.lengths = {1024};
  s.rounds = 4;
  s.noise = white(0.02, 1);
  auto contestants = contestants_of(s);
  contestants[0].eligible = false;
  nsa::MeasurePolicy policy = policy_with(3);
  policy.race = true;
  for (const Contestant& one : contestants) {
    CHECK_FALSE(given_up(one, contestants, policy));
    CHECK_FALSE(why_beaten(one, contestants, policy, 0));
  }
  CHECK(best_median_ns(contestants) ==
        std::min(contestants[1].median_ns(), contestants[2].median_ns()));
  CHECK(state_of(contestants, policy).log_ratios.size() == 2);
  CHECK_FALSE(contest_decided(state_of(contestants, policy), kEpsilon, 1));  // of a and b

  contestants[0].eligible = true;  // as a candidate it would have put both out
  CHECK(given_up(contestants[1], contestants, policy));
  CHECK(contest_decided(state_of(contestants, policy), kEpsilon, 1));

  contestants[1].eligible = contestants[2].eligible = contestants[0].eligible = false;
  CHECK(given_up(contestants[1], contestants, policy));  // where nobody may be chosen, the best
}

TEST_CASE("a baseline that is clearly slower is beaten", "[tuner]") {
  Session s = two_variants(1.5, 0.001, 2);
  auto contestants = contestants_of(s);
  contestants[1].eligible = false;
  nsa::MeasurePolicy policy = kNobodyGivenUp;
  policy.race = true;
  CHECK_FALSE(why_beaten(contestants[0], contestants, policy, 0));
  CHECK(why_beaten(contestants[1], contestants, policy, 0));
}

TEST_CASE("who was beaten in a process competes in the next one", "[tuner]") {
  Session s = two_variants(1.5, 0.001, 2);
  auto contestants = contestants_of(s);
  nsa::MeasurePolicy policy = kNobodyGivenUp;
  CHECK_FALSE(why_beaten(contestants[1], contestants, policy, 0));  // no race
  policy.race = true;
  const auto why = why_beaten(contestants[1], contestants, policy, 0);
  REQUIRE(why);
  CHECK(why->starts_with("beaten: 1.5"));
  CHECK_FALSE(why_beaten(contestants[0], contestants, policy, 0));
  contestants[1].beaten[0] = *why;
  CHECK(state_of(contestants, policy, {0, 2, 0}).log_ratios.size() == 1);
  CHECK(state_of(contestants, policy, {1, 2, 0}).log_ratios.size() == 2);
}

TEST_CASE("a control and a variant that was given up keep no contest open", "[tuner]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(50)}};
  s.lengths = {1024};
  s.control = true;
  const auto contestants = contestants_of(s);
  REQUIRE(contestants.size() == 3);
  CHECK(contestants[2].visited());
  CHECK(state_of(contestants, kNobodyGivenUp).log_ratios.size() == 2);
  CHECK(state_of(contestants, policy_with(3)).log_ratios.size() == 1);
}

TEST_CASE("a control is the same variant once more, and out where its original is", "[tuner]") {
  Contestant original;
  original.candidate.id = id("a");
  original.described.flop = 5;
  original.handle = 3;
  original.checked = true;
  Measurement row;
  row.median_ns = 1000;
  original.add_visit({0, 0, 0}, row);
  const Contestant control = control_of(original);
  CHECK(control.control);
  CHECK_FALSE(control.out);
  CHECK(control.candidate.id == id("a"));
  CHECK(control.described.flop == 5);
  CHECK_FALSE(control.handle.has_value());  // it is prepared and visited for itself
  CHECK_FALSE(control.checked);
  CHECK_FALSE(control.visited());
  original.out = true;
  CHECK(control_of(original).out);
}

TEST_CASE("a visit counts by its median and its fastest sample, once a block", "[tuner]") {
  Contestant contestant;
  Measurement row;
  contestant.add_visit({0, 0, 0}, row);  // nothing was measured
  CHECK_FALSE(contestant.visited());
  row.median_ns = 1000;
  contestant.add_visit({0, 0, 0}, row);
  CHECK(contestant.least_ns == 1000);  // samples were not read
  row.median_ns = 2000;
  row.samples = {{0, 2000, 2000, {}}, {0, 900, 900, {}}, {0, 3000, 3000, {}}};
  contestant.add_visit({0, 0, 0}, row);
  CHECK(contestant.median_ns() == 1000);
  CHECK(contestant.least_ns == 1000);
  contestant.add_visit({0, 0, 1}, row);
  CHECK(contestant.median_ns() == 1500);
  CHECK(contestant.least_ns == 900);
}

namespace {

Measurement of_median(double ns) {
  Measurement row;
  row.median_ns = ns;
  return row;
}

/// A best one of 1 us and another one, each with one visit.
std::vector<Contestant> best_and(double other_ns, bool noisy) {
  std::vector<Contestant> contestants(2);
  contestants[0].add_visit({0, 0, 0}, of_median(1000));
  if (noisy)
    contestants[1].add_noisy({0, 0, 0}, of_median(other_ns));
  else
    contestants[1].add_visit({0, 0, 0}, of_median(other_ns));
  return contestants;
}

}  // namespace

TEST_CASE("a variant is given up after two visits, or one that takes longer than a visit should",
          "[tuner]") {
  const nsa::MeasurePolicy policy = policy_with(3);
  auto contestants = best_and(5000, false);
  CHECK_FALSE(given_up(contestants[1], contestants, policy));
  contestants[1].add_visit({0, 0, 1}, of_median(5000));
  CHECK(given_up(contestants[1], contestants, policy));
  contestants = best_and(6e9, false);
  CHECK(given_up(contestants[1], contestants, policy));
  CHECK(why_given_up(contestants[1], contestants) == "given up: 6e+06 times slower than the best");
}

TEST_CASE("noisy visits give a variant up where no noise explains them", "[tuner]") {
  const nsa::MeasurePolicy policy = policy_with(3);
  auto contestants = best_and(6e9, true);
  CHECK(given_up(contestants[1], contestants, policy));
  CHECK(why_given_up(contestants[1], contestants) == "given up: 6e+06 times slower than the best");
  contestants = best_and(9000, true);  // 9 times, which may be 2.25 with clocks at a quarter
  contestants[1].add_noisy({0, 0, 1}, of_median(9000));
  CHECK_FALSE(given_up(contestants[1], contestants, policy));
  contestants = best_and(13000, true);
  contestants[1].add_noisy({0, 0, 1}, of_median(13000));
  CHECK(given_up(contestants[1], contestants, policy));
}
