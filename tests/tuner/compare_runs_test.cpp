// Two runs beside each other.
#include "nsa/tuner/compare_runs.hpp"

#include "catch.hpp"
#include "decide_support.hpp"

using namespace sim;
using nsa::tuner::compare_runs;
using nsa::tuner::Observations;

namespace {

std::vector<Measurement> run(double of_second, std::uint64_t seed, std::int64_t processes = 3) {
  Session s;
  s.variants = {{"a", linear(100)}, {"b", [=](double n) { return of_second * linear(90)(n); }}};
  s.noise = white(0.003, seed);
  s.processes = processes;
  s.rounds = 4;
  return measure(s, seed);
}

std::size_t count_differing(const std::vector<nsa::tuner::ComparedTimes>& all,
                            const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      all, [&](const auto& one) { return one.differs && one.variant->name == name; }));
}

}  // namespace

TEST_CASE("a variant that became slower differs at every length, the other nowhere", "[decide]") {
  const auto first = run(1, 1), second = run(1.03, 2);
  const Observations before(first), after(second);
  const auto compared = compare_runs(before, after);
  REQUIRE(compared.size() == 16);
  CHECK(count_differing(compared, "b") == 8);
  CHECK(count_differing(compared, "a") == 0);
  for (const auto& one : compared) {
    const double truth = one.variant->name == "b" ? 1.03 : 1;
    CHECK(one.ratio == Approx(truth).epsilon(0.006));
    CHECK(one.low < one.ratio);
    CHECK(one.ratio < one.high);
  }
}

TEST_CASE("equal runs differ in less than one comparison of twenty", "[decide]") {
  std::size_t runs_with = 0;
  for (std::uint64_t seed = 10; seed < 50; seed += 2) {
    const auto first = run(1, seed), second = run(1, seed + 1);
    const Observations before(first), after(second);
    const auto compared = compare_runs(before, after);
    runs_with += count_differing(compared, "a") + count_differing(compared, "b") > 0;
  }
  CHECK(runs_with <= 3);
}

TEST_CASE("what only one run has, controls and failures are not compared", "[decide]") {
  auto first = run(1, 1), second = run(1, 2);
  for (Measurement& row : first) row.control = row.variant.name == "a";
  for (Measurement& row : second) {
    if (row.problem.max_seq_len() == 128) row.outcome = nsa::Outcome::crashed;
    if (row.problem.max_seq_len() == 256) row.verification = nsa::Verification::wrong_result;
  }
  const Observations before(first), after(second);
  CHECK(compare_runs(before, after).size() == 6);
  CHECK(compare_runs(after, Observations()).empty());
}

TEST_CASE("with one process in each run nothing differs for sure", "[decide]") {
  const auto first = run(1, 1, 1), second = run(2, 2, 1);
  const Observations before(first), after(second);
  const auto compared = compare_runs(before, after);
  CHECK(compared.size() == 16);
  CHECK(count_differing(compared, "b") == 0);
}
