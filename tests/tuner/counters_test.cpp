// The pass that counts: after all timed visits and traces, once for each variant, with a row
// whatever comes of it.
#include <map>
#include <set>

#include "catch.hpp"
#include "harness.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

std::map<std::string, LaunchCountersRow> by_variant(const MemorySink& sink) {
  std::map<std::string, LaunchCountersRow> rows;
  for (const LaunchCountersRow& row : sink.counters) rows[row.variant.name] = row;
  return rows;
}

std::ptrdiff_t told(const Notes& notes, const std::string& what) {
  return std::count_if(notes.lines.begin(), notes.lines.end(),
                       [&](const std::string& line) { return contains(line, what); });
}

}  // namespace

TEST_CASE(
    "each variant is counted once, behind all visits and traces of a process, and only on "
    "request",
    "[tuner]") {
  MemorySink sink, uncounted;
  Notes notes;
  auto input = sweep_input(small_spec(), {fake("fine")});
  input.trace = true;
  CHECK(run_sweep(input, uncounted, notes).complete);
  CHECK(uncounted.counters.empty());
  input.counters = true;
  input.run_id = "r1";
  CHECK(run_sweep(input, sink, notes).complete);
  REQUIRE(sink.counters.size() == 3);
  CHECK(sink.rows.size() == uncounted.rows.size());
  CHECK(sink.traces.size() == uncounted.traces.size());
  for (const LaunchCountersRow& row : sink.counters) {
    CHECK(row.run_id == "r1");
    CHECK(row.executor == "fake");
    CHECK(row.source_hash == "hash_of_" + row.variant.name);
    CHECK(row.placement == Placement{{"here", fake_device().uuid}});
    CHECK_FALSE(row.counted_at.empty());
    CHECK(row.outcome == Outcome::ok);
    CHECK(row.reason.empty());
    CHECK(row.cold);
    CHECK(row.counters.dram_share == 0.5);
    // One round of a process: three variants and the control, twice; then three traces.
    CHECK(row.counters.metrics == std::vector<CounterMetric>{{"measured", 8}, {"traced", 3}});
  }
  CHECK(by_variant(sink).size() == 3);
}

TEST_CASE("whether caches are cold is asked of the pass as of the visits", "[tuner]") {
  SweepSpec spec = small_spec();
  spec.policy.cold = false;
  MemorySink sink;
  Notes notes;
  auto input = sweep_input(spec, {fake("fine")});
  input.counters = true;
  CHECK(run_sweep(input, sink, notes).complete);
  REQUIRE_FALSE(sink.counters.empty());
  CHECK_FALSE(sink.counters.front().cold);
  CHECK(sink.counters.front().counters.dram_share == 0.25);
}

TEST_CASE("a variant that cannot be counted has the reason in its row, and the others are counted",
          "[tuner]") {
  for (const auto& [mode, outcome] :
       {std::pair{"cannot_count", Outcome::unsupported}, {"hang_count", Outcome::timeout}}) {
    INFO(mode);
    MemorySink sink;
    Notes notes;
    auto input = sweep_input(small_spec({"70"}, 0.5), {fake(mode)});
    input.counters = true;
    CHECK(run_sweep(input, sink, notes).complete);
    for (const Measurement& row : sink.of("bad")) CHECK(row.outcome == Outcome::ok);
    const auto rows = by_variant(sink);
    REQUIRE(rows.size() == 3);
    CHECK(rows.at("bad").outcome == outcome);
    CHECK_FALSE(rows.at("bad").reason.empty());
    CHECK(rows.at("bad").counters == LaunchCounters{});
    CHECK(rows.at("good").outcome == Outcome::ok);
    CHECK(rows.at("other").outcome == Outcome::ok);
    CHECK(told(notes, "bad: not counted: ") == 1);
  }
}

TEST_CASE("a machine that shows its counters to nobody says so once, and the sweep is complete",
          "[tuner]") {
  MemorySink sink;
  Notes notes;
  auto input = sweep_input(small_spec({"40", "50"}), {fake("refuses_count")});
  input.counters = true;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.complete);
  CHECK(report.failures == 0);
  CHECK(sink.counters.size() == 6);  // two lengths
  for (const LaunchCountersRow& row : sink.counters) {
    CHECK(row.outcome == Outcome::unsupported);
    CHECK(row.reason == "administrators only");
  }
  CHECK(told(notes, "not counted: administrators only") == 1);
}
