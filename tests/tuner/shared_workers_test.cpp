// Worker processes that several contests share.
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "harness.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

/// Three problems of different classes, so that one batch holds them.
tuner::SweepInput input_of(const std::string& mode, double deadline_s = 5) {
  SweepSpec spec = small_spec({"70"}, deadline_s);
  ProblemFamily longer = spec.families[0], wider = longer;
  longer.name = "narrow";
  longer.base.head_dim_k = 4;
  wider.name = "wide";
  wider.base.head_dim_v = 16;
  spec.families.push_back(longer);
  spec.families.push_back(wider);
  return sweep_input(spec, {fake(mode)});
}

std::map<std::int64_t, std::set<std::int64_t>> pids_of(const MemorySink& sink) {
  std::map<std::int64_t, std::set<std::int64_t>> pids;
  for (const Measurement& row : sink.rows) {
    if (row.workspace_bytes) pids[row.process].insert(*row.workspace_bytes);
  }
  return pids;
}

std::map<std::int64_t, std::set<std::int64_t>> lengths_of_pids(const MemorySink& sink) {
  std::map<std::int64_t, std::set<std::int64_t>> lengths;
  for (const Measurement& row : sink.rows)
    lengths[row.workspace_bytes.value_or(0)].insert(row.problem.max_seq_len());
  return lengths;
}

/// A variant of each of the three contests fails, and nothing else.
void check_costs_one_row_each(const tuner::SweepInput& input) {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.complete);
  CHECK(report.failures == 3);
  for (const char* name : {"good", "other"}) {
    std::size_t visits = 0;
    for (const Measurement& row : sink.of(name)) visits += !row.control;
    CHECK(visits == 3 * 4);
  }
  CHECK(own_children().empty());
}

/// Whether the variants of all contests were prepared before the first sample of any.
bool all_ready_first(const tuner::SweepInput& input) {
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  std::int64_t measured = std::numeric_limits<std::int64_t>::max(), ready = 0;
  for (const Measurement& row : sink.rows) {
    measured = std::min(measured, row.samples.front().start_ns);
    if (!row.control) ready = std::max(ready, row.workspace_bytes.value());
  }
  CHECK(own_children().empty());
  return ready < measured;
}

/// A sweep that is stopped after five rows leaves no process, and goes on where it was.
void check_stops_and_goes_on(tuner::SweepInput input) {
  static std::atomic<bool> stop;
  stop = false;
  MemorySink sink;
  sink.after_row = [](std::size_t rows) { stop = rows >= 5; };
  Notes notes;
  input.stop = &stop;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.stopped);
  CHECK(own_children().empty());
  stop = false;
  input.earlier = sink.rows;
  sink.after_row = nullptr;
  CHECK(run_sweep(input, sink, notes).complete);
  CHECK(sink.rows.size() == 3 * 16);
}

}  // namespace

TEST_CASE("contests of a batch share a process of each number, another one for each", "[tuner]") {
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input_of("tells_pid"), sink, notes).complete);
  CHECK(sink.rows.size() == 3 * 16);
  const auto pids = pids_of(sink);
  REQUIRE(pids.size() == 2);
  CHECK(pids.at(0).size() == 1);
  CHECK(pids.at(1).size() == 1);
  CHECK(pids.at(0) != pids.at(1));
  for (std::size_t i = 1; i < sink.rows.size(); ++i)
    CHECK(sink.rows[i - 1].process <= sink.rows[i].process);
}

TEST_CASE("two lengths of a stage never share a process", "[tuner]") {
  MemorySink sink;
  Notes notes;
  run_sweep(sweep_input(small_spec({"40", "50"}), {fake("tells_pid")}), sink, notes);
  const auto lengths = lengths_of_pids(sink);
  CHECK(lengths.size() == 4);
  for (const auto& [pid, of_pid] : lengths) CHECK(of_pid.size() == 1);
}

TEST_CASE("handles of a contest are released before the next", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input_of("most_handles"), sink, notes);
  CHECK(report.failures == 0);
  CHECK(sink.rows.size() == 3 * 16);
}

TEST_CASE("a worker that cannot release, or hangs when asked, is started afresh", "[tuner]") {
  for (const char* mode : {"cannot_release", "hang_release"}) {
    INFO(mode);
    MemorySink sink;
    Notes notes;
    const auto report = run_sweep(input_of(mode, 0.5), sink, notes);
    CHECK(report.complete);
    CHECK(report.failures == 0);
    CHECK(sink.rows.size() == 3 * 16);
    CHECK(report.breakdown.wall_s < 30);  // asked once, not for each contest
    CHECK(own_children().empty());
  }
}

TEST_CASE("a crash in a batch costs a row in its contest, and the batch goes on", "[tuner]") {
  for (const char* mode : {"exit_prepare", "segfault_measure", "loses_context_measuring"}) {
    INFO(mode);
    check_costs_one_row_each(input_of(mode));
  }
}

namespace {}  // namespace

TEST_CASE("processes that live together measure each contest one after the other", "[tuner]") {
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(together(input_of("tells_pid")), sink, notes).complete);
  CHECK(sink.rows.size() == 3 * 16);
  const auto pids = pids_of(sink);
  REQUIRE(pids.size() == 2);
  CHECK(pids.at(0).size() == 1);
  CHECK(pids.at(1).size() == 1);
  CHECK(pids.at(0) != pids.at(1));
  std::vector<std::int64_t> order;  // of processes
  for (const Measurement& row : sink.rows)
    if (order.empty() || order.back() != row.process) order.push_back(row.process);
  CHECK(order == std::vector<std::int64_t>{0, 1, 0, 1, 0, 1});
  CHECK(own_children().empty());
}

TEST_CASE("processes that live together are ready before the first of them measures", "[tuner]") {
  const auto input = sweep_input(small_spec(), {fake("tells_when")});
  CHECK(all_ready_first(together(input)));
  CHECK_FALSE(all_ready_first(input));
}

TEST_CASE("handles are released in all processes that live together", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(together(input_of("most_handles")), sink, notes);
  CHECK(report.failures == 0);
  CHECK(sink.rows.size() == 3 * 16);
}

TEST_CASE("what misbehaves in processes that live together costs what it costs alone", "[tuner]") {
  for (const char* mode :
       {"exit_prepare", "segfault_measure", "loses_context_measuring", "loses_context_preparing",
        "out_of_memory", "hang_prepare", "exit_verify", "hang_verify"}) {
    INFO(mode);
    check_costs_one_row_each(together(input_of(mode, 1)));
  }
}

TEST_CASE("without memory for all processes at once each prepares in its turn", "[tuner]") {
  auto input = together(input_of("tells_pid"));
  input.device.memory_bytes = 1;
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  CHECK(sink.rows.size() == 3 * 16);
}

TEST_CASE("a sweep that is stopped leaves no process that lives beside another", "[tuner]") {
  check_stops_and_goes_on(together(input_of("fine")));
}

TEST_CASE("contests of several crews get ready before the first of them measures", "[tuner]") {
  CHECK(all_ready_first(in_crews(input_of("tells_when"))));
  CHECK_FALSE(all_ready_first(together(input_of("tells_when"))));
  const auto two_lengths = sweep_input(small_spec({"40", "50"}), {fake("tells_when")});
  CHECK(all_ready_first(in_crews(two_lengths)));
}

TEST_CASE("crews measure one after the other, the contests in their order", "[tuner]") {
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(in_crews(input_of("fine")), sink, notes).complete);
  CHECK(sink.rows.size() == 3 * 16);
  std::vector<std::pair<Problem, std::int64_t>> order;  // of contests and processes
  std::int64_t last = 0;
  for (const Measurement& row : sink.rows) {
    CHECK(row.samples.front().start_ns >= last);
    last = row.samples.back().start_ns;
    if (order.empty() || order.back() != std::pair(row.problem, row.process))
      order.emplace_back(row.problem, row.process);
  }
  CHECK(order.size() == 6);
}

TEST_CASE("two lengths of a stage never share a process in crews", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto input = sweep_input(small_spec({"40", "50", "60"}), {fake("tells_pid")});
  CHECK(run_sweep(in_crews(input), sink, notes).complete);
  const auto lengths = lengths_of_pids(sink);
  CHECK(lengths.size() == 6);
  for (const auto& [pid, of_pid] : lengths) CHECK(of_pid.size() == 1);
}

TEST_CASE("what misbehaves in crews costs what it costs alone", "[tuner]") {
  // The second contest of a crew is prepared in the process that the first one ends.
  for (const char* mode :
       {"exit_prepare", "segfault_measure", "loses_context_measuring", "loses_context_preparing",
        "out_of_memory", "hang_prepare", "exit_verify", "hang_verify"}) {
    INFO(mode);
    check_costs_one_row_each(in_crews(input_of(mode, 1)));
  }
}

TEST_CASE("contests of several crews are verified before the first of them measures", "[tuner]") {
  for (const bool crews : {true, false}) {
    MemorySink sink;
    Notes notes;
    auto input = together(input_of("verifies_before_measuring"));
    if (crews) input = in_crews(std::move(input));
    CHECK(run_sweep(input, sink, notes).complete);
    const bool all = std::ranges::all_of(sink.rows, [](const Measurement& row) {
      return row.verification == Verification::verified;
    });
    CHECK(all == crews);  // else the second contest is, after the visits of the first
  }
}

TEST_CASE("what finds no memory beside the contest before it is prepared in its turn", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(in_crews(input_of("most_handles")), sink, notes);
  CHECK(report.failures == 0);
  CHECK(sink.rows.size() == 3 * 16);
  auto small = in_crews(input_of("tells_when"));
  small.device.memory_bytes = 1;
  CHECK_FALSE(all_ready_first(small));
}

TEST_CASE("a sweep in crews that is stopped leaves no process, and goes on where it was",
          "[tuner]") {
  check_stops_and_goes_on(in_crews(input_of("fine")));
}

TEST_CASE("crews are as many as a host and its device have room for", "[tuner]") {
  Device device;
  CHECK(tuner::crews_for(device, 2) == 1);  // nobody knows its memory
  device.memory_bytes = std::int64_t{16} << 30;
  CHECK(tuner::crews_for(device, 2) == 1);
  device.memory_bytes = std::int64_t{1} << 40;
  CHECK(tuner::crews_for(device, 2) <= 4);
  CHECK(tuner::crews_for(device, 100'000) == 1);
}
