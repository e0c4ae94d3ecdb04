// Contests that are planned by what was measured before.
#include <set>

#include "catch.hpp"
#include "harness.hpp"
#include "pool/kept_rows.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

std::atomic<bool> stop_flag;
std::size_t stop_after = 0;

std::set<std::int64_t> lengths_of(const std::vector<Measurement>& rows) {
  std::set<std::int64_t> lengths;
  for (const Measurement& row : rows) lengths.insert(row.problem.max_seq_len());
  return lengths;
}

/// Plans each of `more` in turn, one after another, by how many lengths have rows.
tuner::SweepInput input_with(const std::vector<std::string>& lengths,
                             const std::vector<std::string>& more) {
  auto input = sweep_input(small_spec(lengths), {fake("fine")});
  const auto later = sweep_input(small_spec(more), {fake("fine")}).plan;
  const std::size_t first = lengths.size();
  input.next_plan = [=](const std::vector<Measurement>& rows, const tuner::Lend&) {
    const std::size_t planned = lengths_of(rows).size() - first;
    tuner::Plan plan;
    if (planned < later.contests.size()) plan.contests = {later.contests[planned]};
    return plan;
  };
  return input;
}

}  // namespace

TEST_CASE("a sweep goes on with what its rows ask for until they ask for nothing", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input_with({"40"}, {"50", "60"}), sink, notes);
  CHECK(report.complete);
  CHECK(lengths_of(sink.rows) == std::set<std::int64_t>{40, 50, 60});
  CHECK(notes.last.contests == 3);
  CHECK(notes.last.contests_done == 3);
  CHECK(report.breakdown.plan_s > 0);
}

TEST_CASE("a plan that names what was planned before ends the sweep", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  int asked = 0;
  input.next_plan = [&](const std::vector<Measurement>&, const tuner::Lend&) {
    ++asked;
    return input.plan;
  };
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  CHECK(asked == 1);
  CHECK(sink.rows.size() == 16);
}

TEST_CASE("rows of a resume ask for the same plans again, whenever it was stopped", "[tuner]") {
  for (const std::size_t limit : {5u, 17u, 40u}) {
    INFO(limit);
    auto input = input_with({"40"}, {"50", "60"});
    input.stop = &stop_flag;
    std::vector<Measurement> all;
    bool complete = false;
    for (int go = 0; go < 20 && !complete; ++go) {
      stop_flag = false;
      stop_after = limit;
      input.earlier = all;
      MemorySink sink;
      sink.after_row = [](std::size_t rows) {
        if (rows >= stop_after) stop_flag = true;
      };
      Notes notes;
      complete = run_sweep(input, sink, notes).complete;
      all.insert(all.end(), sink.rows.begin(), sink.rows.end());
    }
    CHECK(complete);
    CHECK(lengths_of(all) == std::set<std::int64_t>{40, 50, 60});
    std::set<std::string> keys;
    for (const Measurement& row : all) keys.insert(row.job_key);
    CHECK(keys.size() == all.size());
    CHECK(all.size() == 3 * 16);
  }
}

TEST_CASE("finalists are measured once more in processes of their own", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  input.next_plan = [&](const std::vector<Measurement>& rows, const tuner::Lend&) {
    tuner::Plan plan;
    if (rows.size() > 16) return plan;
    plan.contests = input.plan.contests;
    plan.contests[0].first_process = 2;
    plan.contests[0].held_out = true;
    plan.contests[0].max_rounds = plan.contests[0].min_rounds = 3;
    plan.contests[0].variants.resize(2);
    plan.contests[0].described.resize(2);
    return plan;
  };
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  std::size_t again = 0;
  for (const Measurement& row : sink.rows) {
    again += row.process >= 2;
    CHECK(row.held_out == (row.process >= 2));
  }
  CHECK(again == 2 * 3 * 6);  // processes, rounds, two variants and the control in both halves
  CHECK(sink.rows.size() == 16 + again);

  input.earlier = sink.rows;
  MemorySink resumed;
  CHECK(run_sweep(input, resumed, notes).complete);
  CHECK(resumed.rows.empty());
}

TEST_CASE("kept rows have one sample, of the medians", "[tuner]") {
  MemorySink sink;
  tuner::KeptRows kept(sink);
  Measurement row;
  row.problem = small_problem();
  row.variant.stages = {"attend_selected"};
  row.samples = {{7, 100, 110, 50}, {8, 300, 320, 90}, {9, 200, 210, 80}};
  row.job_key = "a";
  CHECK(kept.add(row));
  CHECK_FALSE(kept.add(row));
  CHECK(sink.rows.at(0).samples.size() == 3);
  const auto input = sweep_input(small_spec(), {fake("fine")});
  const auto rows = kept.rows_of({{input.plan.contests[0].id, 0}}, 1);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].samples == std::vector<Sample>{{7, 200, 210, 80}});
  CHECK(kept.rows_of({{input.plan.contests[0].id, 1}}, 1).empty());
  CHECK(kept.rows_of({}, 1).empty());
}
