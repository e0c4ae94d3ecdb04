// A worker that hangs on a GPU is asked once more with the tracer in it, and its row says what for.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "harness.hpp"
#include "pool/workers/hang_notes.hpp"
#include "pool/workers/scratch_folder.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

struct Swept {
  tuner::SweepReport report;
  std::vector<Measurement> failed;
  std::string retries;  // a line each, as the worker writes it
};

/// A sweep with a deadline of half a second, on what is called a GPU.
Swept sweep(const std::string& mode, void (*change)(tuner::SweepInput&) = nullptr) {
  const tuner::ScratchFolder folder;
  const std::string log = folder.path() + "/log";
  setenv("FAKE_WORKER_LOG", log.c_str(), 1);
  SweepSpec spec = small_spec({"70"}, 0.5);
  auto input = sweep_input(spec, {fake(mode)});
  input.device.backend = Backend::cuda;
  input.tracer_library = "/the/library.so";
  if (change) change(input);
  MemorySink sink;
  Notes notes;
  Swept swept;
  swept.report = run_sweep(input, sink, notes);
  unsetenv("FAKE_WORKER_LOG");
  for (const Measurement& row : sink.rows)
    if (row.outcome != Outcome::ok) swept.failed.push_back(row);
  std::ifstream file(log);
  swept.retries.assign(std::istreambuf_iterator<char>(file), {});
  return swept;
}

/// The reason of the only row that failed, which is a timeout's.
std::string reason_of(const Swept& swept) {
  REQUIRE(swept.failed.size() == 1);
  CHECK(swept.failed[0].outcome == Outcome::timeout);
  CHECK(contains(swept.failed[0].reason, "no answer within "));
  return swept.failed[0].reason;
}

}  // namespace

TEST_CASE("a worker that hangs again names the kernel and the open ranges", "[tuner]") {
  for (const char* mode : {"noted_measure", "noted_prepare"}) {
    const Swept swept = sweep(mode);
    CHECK(swept.report.complete);
    const std::string reason = reason_of(swept);
    INFO(reason);
    CHECK(contains(reason, "fake_worker, state S"));  // where the host stood the first time
    CHECK(
        reason.ends_with("; asked again under the tracer, it hung again: nothing ended on the GPU "
                         "for 125 ms; last kernel: spins<float>(int)\\x1b; open ranges: thread 12: "
                         "step 1 > attend_selected"));
    CHECK(swept.retries == "/the/library.so\n");  // once, though two processes were to measure
    CHECK(swept.report.breakdown.trace_s > 0.4);
    CHECK(own_children().empty());
  }
}

TEST_CASE("a worker that does not hang again says so", "[tuner]") {
  const Swept swept = sweep("hang_once_measure");
  CHECK(reason_of(swept).ends_with("; asked again under the tracer, it did not hang"));
  CHECK(swept.retries == "/the/library.so\n");
  const Swept crashed = sweep("crash_then_measure");
  CHECK(contains(reason_of(crashed), "under the tracer, it did not hang, but: crashed: while "));
  CHECK(contains(reason_of(crashed), "exit code 3"));
}

TEST_CASE("a hang that the tracer did not see says why", "[tuner]") {
  const std::string none = reason_of(sweep("hang_measure"));
  CHECK(none.ends_with("it hung again, but left no trace: perhaps it never used CUDA"));
  const std::string held = reason_of(sweep("other_tool_measure"));
  CHECK(held.ends_with("it hung again, but was not traced: CUPTI is held by another tool"));
}

TEST_CASE("nothing is asked again without a tracer, on a CPU, or when the sweep ends", "[tuner]") {
  const Swept missing = sweep("noted_measure", [](tuner::SweepInput& input) {
    input.tracer_library.clear();
    input.no_tracer = "libcupti.so.13: not found";
  });
  CHECK(reason_of(missing).ends_with(
      "; not asked again under the tracer: libcupti.so.13: not found"));
  CHECK(missing.retries.empty());

  const Swept cpu =
      sweep("noted_measure", [](tuner::SweepInput& input) { input.device.backend = Backend::cpu; });
  CHECK_FALSE(contains(reason_of(cpu), "tracer"));
  CHECK(cpu.retries.empty());

  const Swept ending = sweep("noted_prepare", [](tuner::SweepInput& input) {
    input.spec.policy.deadline_s = 2;
    input.spec.budget_s = 1.5;  // over when the first deadline is
  });
  CHECK(contains(reason_of(ending), "not asked again under the tracer: the sweep ends"));
  CHECK(ending.report.budget_spent);
  CHECK(ending.retries.empty());
}

TEST_CASE("a spool that cannot be read is told, and does not hide the others", "[tuner]") {
  const tuner::ScratchFolder folder;
  CHECK_FALSE(tuner::read_hang_notes(folder.path()).spool);
  std::ofstream(folder.path() + "/a.nsaspool") << "rubbish";
  std::ofstream(folder.path() + "/b.txt") << "no spool";
  const tuner::HangNotes notes = tuner::read_hang_notes(folder.path());
  CHECK_FALSE(notes.spool);
  CHECK(contains(notes.trouble, "a.nsaspool"));
  CHECK_FALSE(contains(notes.trouble, "b.txt"));
}
