// Visits that the machine disturbed: kept, flagged, made up for, and never without an end.
#include "pool/checks/noise.hpp"

#include <cmath>
#include <thread>

#include "catch.hpp"
#include "harness.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

struct Swept {
  MemorySink sink;
  Notes notes;
  tuner::SweepReport report;
};

/// On a GPU's rules: what other programs do on this host plays no part there.
tuner::SweepInput gpu_input(const std::string& mode, SweepSpec spec = small_spec()) {
  spec.policy.noise_gate = true;
  auto input = sweep_input(spec, {fake(mode)});
  input.device.backend = Backend::cuda;
  return input;
}

std::int64_t count(const MemorySink& sink, Outcome outcome) {
  return std::count_if(sink.rows.begin(), sink.rows.end(),
                       [&](const Measurement& row) { return row.outcome == outcome; });
}

ClockReading throttled(const std::string& reasons) {
  ClockReading clocks;
  clocks.throttle = reasons;
  return clocks;
}

}  // namespace

TEST_CASE("heat and a brake make noise, limits that hold for all do not", "[tuner]") {
  for (const char* reasons : {"hw_slowdown", "sw_power_cap,sw_thermal", "hw_thermal",
                              "applications_clocks,hw_power_brake", "other", "foo",
                              "sw_power_cap, hw_thermal_slowdown", "sw_thermal_slowdown"})
    CHECK_FALSE(tuner::throttled_by(throttled(reasons)).empty());
  for (const char* reasons :
       {"", "applications_clocks", "sync_boost", "sw_power_cap", "display_clock", "gpu_idle",
        "applications_clocks_setting, display_clock_setting", "none"})
    CHECK(tuner::throttled_by(throttled(reasons)).empty());
  CHECK(tuner::throttled_by({}).empty());
  CHECK(tuner::power_capped(throttled("applications_clocks,sw_power_cap")));
  CHECK_FALSE(tuner::power_capped(throttled("sw_power_cap_of_another_name")));
}

TEST_CASE("a power limit that short launches cannot run into themselves is noise", "[tuner]") {
  const auto at = [](double mhz, const char* reasons) {
    ClockReading clocks = throttled(reasons);
    clocks.sm_mhz = mhz;
    return clocks;
  };
  tuner::PowerLimits limits;
  CHECK(limits.noise(at(1100, "sw_power_cap"), 3e4).empty());  // nobody has seen it faster
  CHECK(limits.noise(at(1980, ""), 3e4).empty());
  CHECK(limits.noise(at(1130, "sw_power_cap"), 3e4).find("57 %") != std::string::npos);
  CHECK(limits.noise(at(1130, "sw_power_cap"), 9e6).empty());  // a heavy kernel's own
  CHECK(limits.noise(at(1600, "sw_power_cap"), 3e4).empty());
  CHECK(limits.noise(at(1130, ""), 3e4).empty());
  CHECK(limits.noise(throttled("sw_power_cap"), 3e4).empty());  // no clock is known
}

TEST_CASE("a session that is throttled all the time ends, with rows that say so", "[tuner]") {
  MemorySink sink;
  Notes notes;
  SweepSpec spec = small_spec();
  spec.policy.min_rounds = 2;
  spec.policy.max_rounds = 20;
  const auto report = run_sweep(gpu_input("too_hot", spec), sink, notes);
  CHECK(report.complete);
  CHECK(report.failures == 0);
  CHECK(report.noisy == report.rows);
  REQUIRE(sink.rows.size() == 2 * 2 * 8);  // processes, min_rounds, visits: no more
  for (const Measurement& row : sink.rows) {
    CHECK(row.outcome == Outcome::noisy);
    CHECK(row.reason == "throttled: sw_thermal");
    CHECK(row.samples.size() == 2);
    CHECK(row.median_ns.has_value());
  }
}

TEST_CASE("a noisy round is made up for by another", "[tuner]") {
  MemorySink sink;
  Notes notes;
  SweepSpec spec = small_spec();
  spec.policy.min_rounds = 2;
  spec.policy.max_rounds = 20;
  spec.policy.epsilon = 100;    // decided as soon as it may be
  spec.policy.control = false;  // the times are real, and controls on a busy machine are apart
  const auto report = run_sweep(gpu_input("hot_at_first", spec), sink, notes);
  CHECK(report.noisy == 2 * 3);  // the first three visits of each process
  CHECK(sink.rows.size() == 2 * 3 * 6);
  CHECK(report.breakdown.wait_s > 0);
}

TEST_CASE("a power limit that all of a round meet alike is a note, else it is noise", "[tuner]") {
  MemorySink alike, mixed;
  Notes notes;
  CHECK(run_sweep(gpu_input("capped"), alike, notes).noisy == 0);
  for (const Measurement& row : alike.rows) CHECK(row.note == "at the power limit");
  // With one round there is no room for another.
  CHECK(run_sweep(gpu_input("capped_later"), mixed, notes).noisy == 2 * 4);
  for (const Measurement& row : mixed.rows) {
    CHECK((row.outcome == Outcome::noisy) == (row.position >= 4));
    if (row.outcome == Outcome::noisy) CHECK(contains(row.reason, "unlike the first visit"));
  }
}

TEST_CASE("noisy visits are not made again on a resume, and decide nothing there", "[tuner]") {
  auto input = gpu_input("too_hot");
  MemorySink sink, resumed;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  input.earlier = sink.rows;
  CHECK(run_sweep(input, resumed, notes).complete);
  CHECK(resumed.rows.empty());
}

TEST_CASE("without the gate everything counts", "[tuner]") {
  auto input = gpu_input("too_hot");
  input.spec.policy.noise_gate = false;
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).noisy == 0);
  CHECK(count(sink, Outcome::ok) == static_cast<std::int64_t>(sink.rows.size()));
}

TEST_CASE("controls far apart are noise once the spread of the run is known", "[tuner]") {
  tuner::ControlSpread spread;
  CHECK(spread.noise(200, 100).empty());  // nothing to compare with
  for (int i = 0; i < 8; ++i) spread.add(100 + i % 2, 100);
  CHECK(spread.noise(104, 100).empty());
  CHECK(contains(spread.noise(200, 100), "the A/A control differs by 69.3 %"));
  CHECK_FALSE(spread.noise(100, 200).empty());
  for (int i = 0; i < 9; ++i) spread.add(110, 100);
  CHECK(spread.noise(200, 100).empty());  // the run is that noisy
}

TEST_CASE("a process that waits for its core is told from one that sleeps", "[tuner]") {
  const tuner::CoreWait asleep(getpid());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (!asleep.waited_s()) return;  // the kernel does not tell
  CHECK(asleep.noise(1000).empty());
  const tuner::CoreWait contested(getpid());
  std::vector<std::thread> threads;
  const auto end = tuner::Clock::now() + tuner::seconds(0.3);
  const unsigned many = 4 * std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < many; ++i)
    threads.emplace_back([&] {
      while (tuner::Clock::now() < end) continue;
    });
  while (tuner::Clock::now() < end) continue;  // this thread, which was there before
  CHECK(contains(contested.noise(0.3), "other processes used its cores"));
  for (std::thread& thread : threads) thread.join();
}
