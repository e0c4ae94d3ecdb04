// What is recorded of a program that is traced by injection.
#include "inject/window.hpp"

#include <map>

#include "catch.hpp"

using namespace nsa::inject;

namespace {

Request request_of(const std::map<std::string, std::string>& variables) {
  return read_request([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("without a folder nothing is asked for, and with one alone everything is", "[probes]") {
  CHECK(request_of({}).folder.empty());
  const Request r = request_of({{"NSATUNE_TRACE_DIR", "/tmp/x"}});
  CHECK(r.folder == "/tmp/x");
  CHECK(r.window.kind == WindowKind::all);
  CHECK(r.hang_ms == 0);
  CHECK(r.complaint.empty());
  CHECK(first_phase(r.window) == Phase::recording);
}

TEST_CASE("numbers and kinds that cannot be understood are said and left out", "[probes]") {
  const Request r = request_of({{"NSATUNE_TRACE_WINDOW", "steps"},
                                {"NSATUNE_TRACE_SKIP", "3"},
                                {"NSATUNE_TRACE_WARMUP", "-1"},
                                {"NSATUNE_TRACE_HANG_MS", "2000"},
                                {"NSATUNE_TRACE_PYTHON_STACKS_US", "5000"},
                                {"NSATUNE_TRACE_ON_HANG", "end"},
                                {"NSATUNE_TRACE_ALL_CALLS", "1"}});
  CHECK(r.window.kind == WindowKind::steps);
  CHECK(r.window.skip == 3);
  CHECK(r.window.warmup == 0);
  CHECK(r.hang_ms == 2000);
  CHECK(r.python_stacks_us == 5000);
  CHECK(r.end_on_hang);
  CHECK(r.all_calls);
  CHECK(r.complaint == "NSATUNE_TRACE_WARMUP=-1 is not a whole number");
  CHECK(request_of({{"NSATUNE_TRACE_WINDOW", "weeks"}}).complaint ==
        "NSATUNE_TRACE_WINDOW=weeks is not a kind of window");
  CHECK_FALSE(request_of({{"NSATUNE_TRACE_COUNT", "5x"}}).complaint.empty());
}

TEST_CASE("steps are left out, then warm up, then are recorded, then nothing is", "[probes]") {
  Window w;
  w.kind = WindowKind::steps;
  w.skip = 2;
  w.warmup = 1;
  w.count = 3;
  const Phase wanted[] = {Phase::skipping,  Phase::skipping,  Phase::warming_up, Phase::recording,
                          Phase::recording, Phase::recording, Phase::done,       Phase::done};
  for (std::int64_t i = 0; i < 8; ++i) {
    INFO(i);
    CHECK(phase_of(w, i) == wanted[i]);
  }
  CHECK(first_phase(w) == Phase::skipping);
  w.count = 0;
  CHECK(phase_of(w, 1'000'000) == Phase::recording);
  w = {};
  w.kind = WindowKind::calls;
  CHECK(first_phase(w) == Phase::recording);
  w.warmup = 1;
  CHECK(first_phase(w) == Phase::warming_up);
  w.kind = WindowKind::profiler_api;
  CHECK(first_phase(w) == Phase::skipping);
}

TEST_CASE("a step is told by its name, or is the one that was asked for", "[probes]") {
  for (const char* name : {"step", "Step 3", "step_12", "ProfilerStep#7", "iteration 4", "iter12",
                           "train_step", "batch:9", "training step 7", "step[4]", "Train_Iter-2"}) {
    INFO(name);
    CHECK(is_step_name(name, ""));
  }
  for (const char* name : {"", "3", "steps", "optimizer.step", "stepper 1", "footstep", "score",
                           "step 3 forward", "step]", "train", "iterator 3"}) {
    INFO(name);
    CHECK_FALSE(is_step_name(name, ""));
  }
  CHECK(is_step_name("my range", "my range"));
  CHECK_FALSE(is_step_name("step 3", "my range"));
}
