// What a sweep does when all goes well: order, control, budget, stop, time.
#include <map>
#include <set>
#include <thread>

#include "catch.hpp"
#include "harness.hpp"
#include "pool/workers/device_lock.hpp"
#include "sanitizers.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

TEST_CASE("every visit is a row of its own with everything that a reader needs", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(sweep_input(small_spec(), {fake("fine")}), sink, notes);
  CHECK(report.complete);
  CHECK(report.rows == static_cast<std::int64_t>(sink.rows.size()));
  std::set<std::string> ids, keys;
  for (const Measurement& row : sink.rows) {
    ids.insert(row.id);
    keys.insert(row.job_key);
    CHECK(row.run_id == "run");
    CHECK(row.executor == "fake");
    CHECK(row.source_hash == "hash_of_" + row.variant.name);
    CHECK(row.placement == Placement{{"here", fake_device().uuid}});
    CHECK(row.outcome == Outcome::ok);
    CHECK(row.verification == Verification::unverified);  // it cannot verify
    CHECK(row.samples_n == 2);
    REQUIRE(row.samples.size() == 2);
    CHECK(*row.median_ns ==
          Approx(static_cast<double>(row.samples[0].device_ns + row.samples[1].device_ns) / 2));
    CHECK(*row.mad_ns == Approx(std::abs(static_cast<double>(row.samples[0].device_ns -
                                                             row.samples[1].device_ns)) /
                                2));
    CHECK(row.first_call_ns == 1'000'000);
    CHECK_FALSE(row.measured_at.empty());
  }
  CHECK(ids.size() == sink.rows.size());
  CHECK(keys.size() == sink.rows.size());
}

TEST_CASE("the visits of a round stand in A B B A order and share a pair id", "[tuner]") {
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec(), {fake("fine")}), sink, notes);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Measurement>> rounds;
  for (const Measurement& row : sink.rows) rounds[{row.process, row.round}].push_back(row);
  CHECK(rounds.size() == 2);  // two processes, one round each
  std::set<std::string> pair_ids;
  for (const auto& [where, rows] : rounds) {
    REQUIRE(rows.size() == 8);  // three variants and the control, twice
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].position == static_cast<std::int64_t>(i));
      CHECK(rows[i].pair_id == rows[0].pair_id);
      const Measurement& mirror = rows[rows.size() - 1 - i];
      CHECK(rows[i].variant == mirror.variant);
      CHECK(rows[i].control == mirror.control);
    }
    pair_ids.insert(rows[0].pair_id);
  }
  CHECK(pair_ids.size() == rounds.size());
}

TEST_CASE("a contest has one control, and none when the policy wants none", "[tuner]") {
  for (const bool control : {true, false}) {
    SweepSpec spec = small_spec();
    spec.policy.control = control;
    MemorySink sink;
    Notes notes;
    run_sweep(sweep_input(spec, {fake("fine")}), sink, notes);
    std::set<std::string> controls;
    for (const Measurement& row : sink.rows) {
      if (row.control) controls.insert(row.variant.name);
    }
    CHECK(controls.size() == (control ? 1 : 0));
  }
}

TEST_CASE("a variant far slower than the best gets a visit when it is dear, two when it is not",
          "[tuner]") {
  for (const auto& [target_s, visits] : {std::pair{0.001, 1u}, {10.0, 2u}}) {
    SweepSpec spec = small_spec();
    spec.policy.give_up_ratio = 1.5;  // `other` takes twice as long
    spec.policy.visit_target_s = target_s;
    spec.policy.max_rounds = 3;
    spec.policy.min_rounds = 3;
    MemorySink sink;
    Notes notes;
    run_sweep(sweep_input(spec, {fake("fine", 40)}), sink, notes);
    const auto others = sink.of("other");
    CHECK(others.size() == visits);
    const auto told = notes.of("given_up");
    REQUIRE(told.size() == 1);
    CHECK(told[0].starts_with("attend_selected/other: given up: "));
    CHECK(notes.of("contest") == std::vector<std::string>{"rounds"});
    CHECK(sink.of("good").size() >= 12);
  }
}

TEST_CASE("with a race a clear loser gets few visits in a process, and its last row says why",
          "[tuner]") {
  for (const bool race : {true, false}) {
    SweepSpec spec = small_spec();
    spec.policy.race = race;
    spec.policy.min_rounds = spec.policy.max_rounds = 4;
    MemorySink sink;
    Notes notes;
    run_sweep(sweep_input(spec, {fake("steady", 20)}), sink, notes);  // `other` takes twice as long
    std::map<std::int64_t, std::vector<Measurement>> others, best;
    for (const Measurement& row : sink.of("other")) others[row.process].push_back(row);
    for (const Measurement& row : sink.of("good"))
      if (!row.control) best[row.process].push_back(row);
    REQUIRE(others.size() == 2);
    for (const auto& [process, rows] : others) {
      CHECK(best[process].size() == 8);
      CHECK(rows.size() <= (race ? 4 : 8));
      CHECK(rows.size() >= (race ? 3 : 8));
      CHECK(rows.back().note.starts_with("beaten: ") == race);
      CHECK(std::ranges::count_if(rows, [](const Measurement& row) {
              return row.note.starts_with("beaten: ");
            }) == race);
    }
    const auto told = notes.of("given_up");
    CHECK(told.size() == (race ? 2 : 0));
    for (const std::string& one : told) CHECK(one.starts_with("attend_selected/other: beaten: "));
  }
}

TEST_CASE("an open contest takes half of its rounds in the first process, a decided one few",
          "[tuner]") {
  for (const auto& [epsilon, first, last] : {std::tuple{0.0, 3, 5}, {100.0, 2, 1}}) {
    SweepSpec spec = small_spec();
    spec.policy.epsilon = epsilon;
    spec.policy.max_rounds = 5;
    spec.variants = {"good", "bad"};
    MemorySink sink;
    Notes notes;
    run_sweep(sweep_input(spec, {fake("equal")}), sink, notes);
    std::map<std::int64_t, std::set<std::int64_t>> rounds;
    for (const Measurement& row : sink.rows) rounds[row.process].insert(row.round);
    CHECK(rounds[0].size() == static_cast<std::size_t>(first));
    CHECK(rounds[1].size() == static_cast<std::size_t>(last));
    CHECK(notes.of("contest") == std::vector<std::string>{epsilon > 0 ? "decided" : "rounds"});
  }
}

TEST_CASE("samples of a visit are cut to stay near the target, to one at least", "[tuner]") {
  for (const auto& [target_s, expected] : {std::pair{0.045, 4}, {0.001, 1}, {10.0, 7}}) {
    SweepSpec spec = small_spec();
    spec.policy.samples = 7;
    spec.policy.visit_target_s = target_s;
    spec.variants = {"good"};
    spec.policy.processes = 1;
    MemorySink sink;
    Notes notes;
    run_sweep(sweep_input(spec, {fake("fine", 10)}), sink, notes);
    REQUIRE_FALSE(sink.rows.empty());
    CHECK(sink.rows.front().samples_n == expected);  // by its first call, which says 10 ms
  }
}

TEST_CASE("variants of two workers are interleaved in one contest", "[tuner]") {
  MemorySink sink;
  Notes notes;
  auto input = sweep_input(small_spec(), {fake("fine"), fake("as_nsatune")});
  REQUIRE(input.plan.contests.size() == 1);
  CHECK(input.plan.contests[0].variants.size() == 6);
  run_sweep(input, sink, notes);
  std::map<std::string, std::set<std::string>> by_executor;
  for (const Measurement& row : sink.rows) by_executor[row.executor].insert(row.pair_id);
  CHECK(by_executor.size() == 2);
  CHECK(by_executor["fake"] == by_executor["nsatune"]);
}

TEST_CASE("what a worker says of its samples is a note", "[tuner]") {
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec(), {fake("remarks")}), sink, notes);
  REQUIRE_FALSE(sink.of("bad").empty());
  for (const Measurement& row : sink.rows) {
    CHECK(row.outcome == Outcome::ok);
    CHECK(row.reason.empty());
    CHECK(row.note == (row.variant.name == "bad" ? "the timers differ" : ""));
  }
}

TEST_CASE("a time is held against our cost of a stage that we know, else against the described one",
          "[tuner]") {
  for (const bool known : {true, false}) {
    auto input = sweep_input(small_spec(), {fake("fine")});
    tuner::Contest& contest = input.plan.contests.at(0);
    for (tuner::Description& described : contest.described) described.flop = 1e18;
    if (!known) {
      contest.stages = {"my_stage"};
      for (tuner::Candidate& candidate : contest.variants) candidate.id.stages = {"my_stage"};
    }
    MemorySink sink;
    Notes notes;
    run_sweep(input, sink, notes);
    REQUIRE_FALSE(sink.rows.empty());
    for (const Measurement& row : sink.rows) {
      CHECK((row.outcome == Outcome::ok) == known);
      CHECK(contains(row.reason, "is less than any memory") == !known);
    }
  }
}

TEST_CASE("skipped variants are rows with their outcome and reason", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  input.plan.skipped.push_back(
      {small_problem(), input.plan.contests[0].variants[0], Outcome::not_built, "needs CUDA"});
  input.plan.contests.clear();
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.complete);
  REQUIRE(sink.rows.size() == 1);
  CHECK(sink.rows[0].outcome == Outcome::not_built);
  CHECK(sink.rows[0].reason == "needs CUDA");
}

TEST_CASE("a spent budget ends between visits and keeps what there is", "[tuner]") {
  SweepSpec spec = small_spec({"40", "50", "60", "70", "80", "90"});
  spec.budget_s = kThreadSanitizer ? 2 : 0.4;  // where it takes a second to start a worker
  MemorySink sink;
  Notes notes;
  const auto input = sweep_input(spec, {fake("fine", 10)});
  const auto start = tuner::Clock::now();
  const auto report = run_sweep(input, sink, notes);
  CHECK_FALSE(report.complete);
  CHECK(report.budget_spent);
  CHECK_FALSE(report.stopped);
  CHECK(report.failures == 0);
  CHECK_FALSE(sink.rows.empty());
  CHECK(tuner::seconds_since(start) < *spec.budget_s + 3);
  CHECK(own_children().empty());
}

namespace {
std::atomic<bool> stop_flag;
}

TEST_CASE("a stop ends between two visits", "[tuner]") {
  stop_flag = false;
  auto input = sweep_input(small_spec({"40", "50"}), {fake("fine")});
  input.stop = &stop_flag;
  MemorySink sink;
  sink.after_row = [](std::size_t rows) {
    if (rows == 5) stop_flag = true;
  };
  Notes notes;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.stopped);
  CHECK_FALSE(report.complete);
  CHECK(sink.rows.size() == 5);
  CHECK(own_children().empty());
}

TEST_CASE("a stop does not wait for a request that hangs, and blames nobody", "[tuner]") {
  stop_flag = false;
  auto input = sweep_input(small_spec({"70"}, 60), {fake("hang_measure")});
  input.stop = &stop_flag;
  MemorySink sink;
  Notes notes;
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop_flag = true;
  });
  const auto start = tuner::Clock::now();
  const auto report = run_sweep(input, sink, notes);
  later.join();
  CHECK(report.stopped);
  CHECK(report.failures == 0);
  CHECK(tuner::seconds_since(start) < 10);
}

TEST_CASE("a sweep waits while another process has the device, at no cost to its budget",
          "[tuner]") {
  constexpr double kBudgetS = 1;
  tuner::DeviceLock lock("", fake_device("locked-device").uuid);
  REQUIRE(lock.try_lock());
  SweepSpec spec = small_spec();
  spec.budget_s = kBudgetS;
  MemorySink sink;
  Notes notes;
  std::atomic<double> uncounted_s = 0;
  auto input = sweep_input(spec, {fake("fine")}, "locked-device");
  input.uncounted_s = &uncounted_s;
  std::thread later([&] {
    std::this_thread::sleep_for(tuner::seconds(kBudgetS + 0.5));
    lock.unlock();
  });
  const auto report = run_sweep(input, sink, notes);
  later.join();
  CHECK_FALSE(sink.rows.empty());
  CHECK(report.breakdown.wait_s > kBudgetS);
  CHECK(uncounted_s == report.breakdown.wait_s);
  REQUIRE(notes.lines.size() == 1);
  CHECK(contains(notes.lines[0], "waiting"));
}

TEST_CASE("a stop ends the wait for a device", "[tuner]") {
  tuner::DeviceLock lock("", fake_device("locked-for-good").uuid);
  REQUIRE(lock.try_lock());
  std::atomic<bool> stop_flag = false;
  auto input = sweep_input(small_spec(), {fake("fine")}, "locked-for-good");
  input.stop = &stop_flag;
  MemorySink sink;
  Notes notes;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop_flag = true;
  });
  const auto report = run_sweep(input, sink, notes);
  later.join();
  CHECK(report.stopped);
  CHECK(sink.rows.empty());
}

TEST_CASE("each variant is traced once, and only where that is asked for", "[tuner]") {
  MemorySink sink, untraced;
  Notes notes;
  auto input = sweep_input(small_spec(), {fake("fine")});
  CHECK(run_sweep(input, untraced, notes).complete);
  CHECK(untraced.traces.empty());
  input.trace = true;
  input.run_id = "r1";
  CHECK(run_sweep(input, sink, notes).complete);
  REQUIRE(sink.traces.size() == 3);
  CHECK(sink.rows.size() == untraced.rows.size());
  std::set<std::string> traced;
  for (const LaunchTraceRow& row : sink.traces) {
    traced.insert(row.variant.name);
    CHECK(row.run_id == "r1");
    CHECK(row.executor == "fake");
    CHECK(row.source_hash == "hash_of_" + row.variant.name);
    REQUIRE(row.trace.kernels.size() == 1);
    CHECK(row.trace.kernels.front().name == "kernel_of_" + row.variant.name);
  }
  CHECK(traced == std::set<std::string>{"bad", "good", "other"});
}

TEST_CASE("a variant that cannot be traced keeps its times, and the others are traced", "[tuner]") {
  for (const char* mode : {"cannot_trace", "hang_trace"}) {
    INFO(mode);
    MemorySink sink;
    Notes notes;
    auto input = sweep_input(small_spec({"70"}, 0.5), {fake(mode)});
    input.trace = true;
    CHECK(run_sweep(input, sink, notes).complete);
    CHECK_FALSE(sink.of("bad").empty());
    for (const Measurement& row : sink.of("bad")) CHECK(row.outcome == Outcome::ok);
    std::set<std::string> traced;
    for (const LaunchTraceRow& row : sink.traces) traced.insert(row.variant.name);
    CHECK(traced == std::set<std::string>{"good", "other"});
    CHECK(std::any_of(notes.lines.begin(), notes.lines.end(),
                      [](const std::string& line) { return contains(line, "not traced: "); }));
  }
}

TEST_CASE("the breakdown explains the wall time and the framework takes a small share of it",
          "[tuner]") {
  SweepSpec spec = small_spec();
  spec.policy.samples = 5;
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(sweep_input(spec, {fake("fine", 40)}), sink, notes);
  const tuner::TimeBreakdown& l = report.breakdown;
  const double sum = l.wait_s + l.start_s + l.prepare_s + l.verify_s + l.recheck_s + l.measure_s +
                     l.decide_s + l.store_s + l.framework_s;
  CHECK(sum == Approx(l.wall_s).epsilon(0.01));
  CHECK(l.framework_s >= 0);
  double slept_s = 0;
  for (const Measurement& row : sink.rows) {
    for (const Sample& sample : row.samples) slept_s += 1e-9 * static_cast<double>(sample.host_ns);
  }
  INFO("slept " << slept_s << " s of " << l.wall_s << " s, starting " << l.start_s << " s");
  // Starting a process costs what the machine takes; under a sanitizer ten times as much.
  CHECK(slept_s + l.start_s > (kThreadSanitizer ? 0.8 : 0.95) * l.wall_s);
}

TEST_CASE("progress counts contests and tells the time left at the end of the first", "[tuner]") {
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec({"40", "50"}), {fake("fine")}), sink, notes);
  CHECK(notes.last.contests == 2);
  CHECK(notes.last.contests_done == 2);
  CHECK(notes.last.rows == static_cast<std::int64_t>(sink.rows.size()));
  REQUIRE(notes.last.left_s.has_value());
  CHECK(*notes.last.left_s == Approx(0).margin(1e-6));
}
