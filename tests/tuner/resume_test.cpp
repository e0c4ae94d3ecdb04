// Going on after an end that came too early: nothing is measured twice, nothing is left out.
#include <map>
#include <set>

#include "catch.hpp"
#include "harness.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

std::atomic<bool> stop_flag;
std::size_t stop_after = 0;

/// One go at the sweep that is stopped after `limit` rows; the rows it added.
std::vector<Measurement> one_go(tuner::SweepInput input, const std::vector<Measurement>& earlier,
                                std::size_t limit, bool& complete) {
  stop_flag = false;
  stop_after = limit;
  input.earlier = earlier;
  input.stop = &stop_flag;
  MemorySink sink;
  sink.after_row = [](std::size_t rows) {
    if (rows >= stop_after) stop_flag = true;
  };
  Notes notes;
  complete = run_sweep(input, sink, notes).complete;
  return sink.rows;
}

std::set<std::string> keys_of(const std::vector<Measurement>& rows) {
  std::set<std::string> keys;
  for (const Measurement& row : rows) keys.insert(row.job_key);
  return keys;
}

/// All rows of goes that are stopped after `limit` rows each, until the sweep is complete.
std::vector<Measurement> many_goes(const tuner::SweepInput& input, std::size_t limit) {
  std::vector<Measurement> all;
  bool complete = false;
  for (int go = 0; go < 40 && !complete; ++go) {
    const auto rows = one_go(input, all, limit, complete);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  CHECK(complete);
  return all;
}

}  // namespace

TEST_CASE("a sweep stopped again and again ends with each measurement made once", "[tuner]") {
  SweepSpec spec = small_spec({"40", "50"});
  const auto input = sweep_input(spec, {fake("fine")});
  const std::vector<Measurement> all = many_goes(input, 3);
  CHECK(keys_of(all).size() == all.size());
  CHECK(all.size() == 2 * 2 * 8);  // lengths, processes, visits of a round
}

TEST_CASE("what was beaten before a stop gets no more visits after it", "[tuner]") {
  SweepSpec spec = small_spec({"40"});
  spec.policy.race = true;
  spec.policy.min_rounds = spec.policy.max_rounds = 4;
  spec.policy.control = false;
  spec.variants = {"good", "other"};  // the second one takes twice as long
  const auto input = sweep_input(spec, {fake("steady", 20)});
  const std::vector<Measurement> all = many_goes(input, 3);
  CHECK(keys_of(all).size() == all.size());
  std::map<std::pair<std::string, std::int64_t>, int> visits;
  for (const Measurement& row : all) ++visits[{row.variant.name, row.process}];
  for (const std::int64_t process : {0, 1}) {
    CHECK(visits[{"good", process}] == 8);
    CHECK(visits[{"other", process}] >= 2);
    CHECK(visits[{"other", process}] <= 3);
  }
}

TEST_CASE("a complete sweep that is asked for again starts no worker and adds no row", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  bool complete = false;
  const auto all = one_go(input, {}, 1000, complete);
  REQUIRE(complete);
  input.workers = {{{"/no/such/worker"}}};
  CHECK(one_go(input, all, 1000, complete).empty());
  CHECK(complete);
}

TEST_CASE("what failed is not tried again", "[tuner]") {
  const auto input = sweep_input(small_spec(), {fake("exit_measure")});
  const std::vector<Measurement> all = many_goes(input, 2);
  std::size_t failures = 0;
  for (const Measurement& row : all) failures += row.outcome != Outcome::ok;
  CHECK(failures == 1);
  CHECK(keys_of(all).size() == all.size());
}

TEST_CASE("skipped rows are not added twice", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  input.plan.skipped.push_back(
      {small_problem(), input.plan.contests[0].variants[0], Outcome::unsupported, "no"});
  input.plan.contests.clear();
  bool complete = false;
  const auto first = one_go(input, {}, 1000, complete);
  CHECK(first.size() == 1);
  CHECK(one_go(input, first, 1000, complete).empty());
}
