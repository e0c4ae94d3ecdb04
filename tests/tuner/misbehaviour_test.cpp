// A worker may do what it wants: its variant gets one row with the right status, the others are
// measured as if nothing had happened.
#include "catch.hpp"
#include "harness.hpp"
#include "nsa/schemas/error.hpp"
#include "pool/rows.hpp"
#include "process/child.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using nsa::tuner::run_sweep;

namespace {

struct Case {
  const char* mode;
  Outcome outcome;
  const char* reason;
};

const Case kCases[] = {
    {"exit_prepare", Outcome::crashed, "exit code 3"},
    {"exit_measure", Outcome::crashed, "last words: a last word"},
    {"segfault_prepare", Outcome::crashed, "signal 11"},
    {"segfault_measure", Outcome::crashed, "while measuring attend_selected/bad"},
    {"loses_context_preparing", Outcome::crashed, "cudaErrorIllegalAddress"},
    {"loses_context_measuring", Outcome::crashed, "cudaErrorIllegalAddress"},
    {"out_of_memory", Outcome::out_of_memory, "needs 51.5 GB"},
    {"rubbish", Outcome::bad_reply, "Segmentation fault"},
    {"flood", Outcome::bad_reply, "without a newline"},
    {"chatter", Outcome::bad_reply, "progress 0"},
    {"wrong_id", Outcome::bad_reply, "instead of"},
    {"wrong_type", Outcome::bad_reply, "another type"},
    {"not_a_number", Outcome::bad_reply, "while measuring"},
    {"zero_time", Outcome::bad_reply, "took 0 ns"},
    {"negative_time", Outcome::bad_reply, "attend_selected/bad"},
    {"few_samples", Outcome::bad_reply, "2 samples were asked for, 1 came"},
    {"one_ns", Outcome::bad_reply, "not believed: 1 ns is less than any memory"},
    {"above_host", Outcome::bad_reply, "ns on the host that waited for it"},
    {"above_wall", Outcome::bad_reply, "the samples took 20 s, but the request only 0.0"},
    {"same_handle", Outcome::bad_reply, "handle 1 is that of attend_selected/good"},
    {"answered_twice", Outcome::bad_reply, "answered twice: measuring attend_selected/bad"},
    {"prepared_twice", Outcome::bad_reply, "answered twice: preparing attend_selected/bad"},
};

/// Visits of a variant that behaves: 2 processes x 1 round x 2 halves.
constexpr std::size_t kVisits = 4;

}  // namespace

TEST_CASE("a worker that misbehaves costs one row with the right outcome", "[tuner]") {
  for (const Case& c : kCases) {
    INFO(c.mode);
    MemorySink sink;
    Notes notes;
    const auto report = run_sweep(sweep_input(small_spec(), {fake(c.mode)}), sink, notes);
    CHECK(report.complete);
    CHECK(report.failures == 1);
    const auto bad = sink.of("bad");
    std::size_t failed = 0;
    for (const Measurement& row : bad) {
      if (row.outcome == Outcome::ok) continue;
      ++failed;
      INFO(row.reason);
      CHECK(row.outcome == c.outcome);
      if (std::string(c.mode) != "negative_time") CHECK(contains(row.reason, c.reason));
      CHECK_FALSE(row.median_ns.has_value());
      CHECK(row.samples.empty());
    }
    CHECK(failed == 1);
    for (const char* name : {"good", "other"}) {
      std::size_t visits = 0;
      for (const Measurement& row : sink.of(name)) visits += !row.control;
      CHECK(visits == kVisits);
    }
    CHECK(own_children().empty());
  }
}

TEST_CASE("a worker that hangs is killed soon after its deadline, and says where it stood",
          "[tuner]") {
  for (const char* mode : {"hang_prepare", "hang_measure"}) {
    INFO(mode);
    MemorySink sink;
    Notes notes;
    const auto start = tuner::Clock::now();
    const auto report = run_sweep(sweep_input(small_spec({"70"}, 0.5), {fake(mode)}), sink, notes);
    CHECK(tuner::seconds_since(start) < 0.5 + 10);
    CHECK(report.complete);
    REQUIRE(report.failures == 1);
    for (const Measurement& row : sink.rows) {
      if (row.outcome == Outcome::ok) continue;
      INFO(row.reason);
      CHECK(row.outcome == Outcome::timeout);
      CHECK(contains(row.reason, "no answer within 0.5 s"));
      CHECK(contains(row.reason, "fake_worker, state S"));
    }
    CHECK(own_children().empty());
  }
}

TEST_CASE("a slow hello, replies in pieces and a worker that stays are no failure", "[tuner]") {
  for (const auto& worker :
       {fake("slow_hello", 100), fake("partial"), fake("stays"), fake("hello_twice")}) {
    INFO(worker.argv[1]);
    MemorySink sink;
    Notes notes;
    SweepSpec spec = small_spec();
    spec.policy.processes = 1;
    const auto report = run_sweep(sweep_input(spec, {worker}), sink, notes);
    CHECK(report.complete);
    CHECK(report.failures == 0);
    CHECK(own_children().empty());
  }
}

TEST_CASE("a worker that does not answer hello as the protocol says is refused by name",
          "[tuner]") {
  for (const char* mode : {"exit_at_hello", "other_protocol"}) {
    try {
      sweep_input(small_spec(), {fake(mode)});
      FAIL("nothing thrown");
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(contains(error.what(), "worker"));
      CHECK(contains(error.what(), "hello"));
    }
  }
  CHECK_THROWS_AS(tuner::discover({{{"/no/such/worker"}}}, fake_device(), 5), InputError);
  CHECK(own_children().empty());
}

TEST_CASE("a worker that does not answer describe is asked once, and then to prepare", "[tuner]") {
  const std::vector<tuner::WorkerCommand> workers{fake("hang_describe")};
  const SweepSpec spec = small_spec({"70", "80"}, 1.5);
  Notes notes;
  const tuner::Asking asking{nullptr, std::nullopt, &notes};
  const auto found = tuner::discover(workers, fake_device(), 5, asking);
  for (const double most_s : {3.0, 1.0}) {  // planning again does not ask again
    const auto start = tuner::Clock::now();
    const auto plan = tuner::plan_with_workers(spec, fake_device(), workers, found, asking);
    CHECK(tuner::seconds_since(start) < most_s);
    CHECK(plan.skipped.empty());
    REQUIRE(plan.contests.size() == 2);
    CHECK(plan.contests[0].variants.size() == 3);
  }
  REQUIRE_FALSE(notes.lines.empty());
  CHECK(contains(notes.lines[0], "asking worker '"));
}

TEST_CASE("of a stage that we know our own cost counts, whatever a worker describes", "[tuner]") {
  const auto input = sweep_input(small_spec(), {fake("describes_much")});
  REQUIRE(input.plan.contests.size() == 1);
  for (const auto& described : input.plan.contests[0].described) {
    CHECK(described.flop > 0);
    CHECK(described.flop < 1e12);
    CHECK(described.bytes < 1e12);
  }
}

TEST_CASE("one sample that did not come is singular", "[tuner]") {
  CHECK(tuner::find_lie({}, 1, {0, std::nullopt, Backend::cpu}) ==
        "1 sample was asked for, 0 came");
}

TEST_CASE("device time above the host's is no noise of two clocks where there is one", "[tuner]") {
  const auto lies = [](std::int64_t device_ns, Backend backend) {
    worker::MeasuredReply reply;
    reply.samples = {{0, device_ns, 5000, std::nullopt}};
    return tuner::find_lie(reply, 1, {0, std::nullopt, backend}).has_value();
  };
  CHECK_FALSE(lies(5000, Backend::cpu));
  CHECK(lies(5001, Backend::cpu));
  CHECK_FALSE(lies(5400, Backend::cuda));
  CHECK(lies(6000, Backend::cuda));
}

TEST_CASE("what was left out for one that fails there is measured after all", "[tuner]") {
  const auto swept = [](const char* mode, const std::string& length) {
    MemorySink sink;
    Notes notes;
    SweepSpec spec = small_spec({"16", "64", length});
    spec.policy.give_up_ratio = 3;
    CHECK(run_sweep(sweep_input(spec, {fake(mode)}), sink, notes).complete);
    std::erase_if(sink.rows, [](const Measurement& row) { return row.problem.seq_lens[0] <= 64; });
    return sink;
  };
  const MemorySink fast = swept("fast", "70");
  REQUIRE(fast.of("good").size() == 1);
  CHECK(contains(fast.of("good")[0].reason, "left out: "));
  for (const char* mode : {"fast_then_lies", "fast_without_memory"}) {
    INFO(mode);
    const MemorySink sink = swept(mode, "70");
    REQUIRE(sink.of("bad").size() == 1);
    CHECK(sink.of("bad")[0].outcome != Outcome::ok);
    for (const char* name : {"good", "other"}) {
      const auto rows = sink.of(name);
      CHECK(rows.size() >= 2);
      for (const Measurement& row : rows) CHECK(row.median_ns.has_value());
    }
  }
}

TEST_CASE("a worker that does not know describe is asked to prepare", "[tuner]") {
  for (const char* mode : {"fine", "bad_request"}) {
    INFO(mode);
    const auto input = sweep_input(small_spec(), {fake(mode)});
    CHECK(input.plan.skipped.empty());
    REQUIRE(input.plan.contests.size() == 1);
    CHECK(input.plan.contests[0].variants.size() == 3);
  }
  const auto refused = sweep_input(small_spec(), {fake("refuses_problem")});
  REQUIRE(refused.plan.skipped.size() == 3);
  CHECK(refused.plan.skipped[0].reason == "\\x1b[2Jneeds 51.5 GB");
}

TEST_CASE("nobody else may use the name of our executor", "[tuner]") {
  for (const char* mode : {"as_nsatune", "as_NSATune"}) {
    tuner::WorkerCommand worker = fake(mode);
    worker.ours = false;
    CHECK_THROWS_AS(tuner::discover({worker}, fake_device(), 5), InputError);
    worker.ours = true;
    CHECK(tuner::discover({worker}, fake_device(), 5).candidates.size() == 3);
  }
}

TEST_CASE("a row of a foreign variant is of the device that its worker names", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine"), fake("as_nsatune")});
  Device theirs = fake_device("theirs");
  input.devices = {theirs, input.device};
  MemorySink sink;
  Notes notes;
  run_sweep(input, sink, notes);
  REQUIRE_FALSE(sink.rows.empty());
  for (const Measurement& row : sink.rows)
    CHECK(row.placement.at(0).device_uuid ==
          (row.executor == "fake" ? theirs.uuid : input.device.uuid));
}

TEST_CASE("a simulated clock may run ahead of ours", "[tuner]") {
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(sweep_input(small_spec(), {fake("simulated")}), sink, notes);
  CHECK(report.failures == 0);
  REQUIRE_FALSE(sink.of("bad").empty());
  for (const Measurement& row : sink.rows) CHECK(row.median_ns == 1e10);
}

TEST_CASE("questions end with the budget and with a stop", "[tuner]") {
  const std::vector<tuner::WorkerCommand> silent{tuner::shell_worker("sleep 975")};
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(tuner::discover(silent, fake_device(), 60, {nullptr, 0.1, nullptr}), InputError);
  const std::atomic<bool> stop{true};
  CHECK(tuner::discover(silent, fake_device(), 60, {&stop, std::nullopt, nullptr}).hellos.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK(own_children().empty());
}

TEST_CASE("a shell's worker takes the shell's place where it is one program", "[tuner]") {
  const auto line = [](const char* command) { return tuner::shell_worker(command).argv.at(2); };
  CHECK(line("sh -c 'exit 3'") == "exec sh -c 'exit 3'");
  CHECK(line("./worker.py \"a b\"") == "exec ./worker.py \"a b\"");
  for (const char* typed : {"./worker.py", "cd x && ./worker.py"})  // the last word is for errors
    CHECK(tuner::shell_worker(typed).argv.back() == typed);
  for (const char* command : {"exit 3", "cd /tmp && sh", "X=1 sh", "sh | cat", "$SHELL", ""})
    CHECK(line(command) == command);
}

TEST_CASE("a worker that cannot use the device is the environment's fault, not the user's",
          "[tuner]") {
  CHECK_THROWS_AS(tuner::discover({fake("device_is_taken")}, fake_device(), 60, {}),
                  EnvironmentError);
}

TEST_CASE("a worker that no longer starts costs one row per variant, not the sweep", "[tuner]") {
  auto input = sweep_input(small_spec(), {fake("fine")});
  input.workers = {fake("exit_at_hello")};
  MemorySink sink;
  Notes notes;
  const auto report = run_sweep(input, sink, notes);
  CHECK(report.complete);
  REQUIRE(sink.rows.size() == 3);
  for (const Measurement& row : sink.rows) {
    CHECK(row.outcome == Outcome::crashed);
    CHECK(contains(row.reason, "exit code 7"));
  }
}
