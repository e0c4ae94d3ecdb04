// The process that says hello answers the questions of the plan, and nothing of it lives on.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "harness.hpp"
#include "nsa/tuner/refine.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

namespace fs = std::filesystem;

/// Counts the processes of a worker that a shell starts.
class Starts {
 public:
  Starts() {
    std::string pattern = (fs::temp_directory_path() / "open_workers_test_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    folder_ = pattern;
  }
  ~Starts() { fs::remove_all(folder_); }

  /// A fake worker of that mode; `first` is what the shell runs the first time instead.
  tuner::WorkerCommand worker(const std::string& mode, const std::string& first = "") const {
    const std::string fake = "'" NSA_FAKE_WORKER "' " + mode + " 1";
    const std::string log = "'" + log_path() + "'";
    const std::string pipe = first.empty() ? "" : "[ $(wc -l <" + log + ") -eq 1 ] && " + first;
    const std::string at_first = first.empty() ? "" : pipe + fake + " && exit; ";
    return {{"/bin/sh", "-c", "echo x >>" + log + "; " + at_first + "exec " + fake}};
  }
  std::size_t count() const {
    std::ifstream log(log_path());
    std::size_t lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    return lines;
  }

 private:
  std::string log_path() const { return (folder_ / "starts").string(); }
  fs::path folder_;
};

}  // namespace

TEST_CASE("a worker is started once for its hello and for all questions of the plan", "[tuner]") {
  const Starts starts;
  const std::vector<tuner::WorkerCommand> workers{starts.worker("refuses_problem")};
  const auto found = tuner::discover(workers, fake_device(), 10);
  CHECK_FALSE(own_children().empty());
  const auto plan =
      tuner::plan_with_workers(small_spec({"70", "80"}), fake_device(), workers, found);
  CHECK(plan.skipped.size() == 6);
  CHECK(starts.count() == 1);
  CHECK(own_children().empty());  // what measures has to be fresh, and alone
  tuner::plan_with_workers(small_spec(), fake_device(), workers, found);
  CHECK(starts.count() == 2);
  CHECK(own_children().empty());
}

TEST_CASE("a worker that dies after its hello is started again, and no question is lost",
          "[tuner]") {
  const Starts starts;
  const std::vector<tuner::WorkerCommand> workers{starts.worker("refuses_problem", "head -n 1 | ")};
  const auto found = tuner::discover(workers, fake_device(), 10);
  const auto plan = tuner::plan_with_workers(small_spec(), fake_device(), workers, found);
  CHECK(plan.skipped.size() == 3);
  CHECK(starts.count() == 2);
  CHECK(own_children().empty());
}

TEST_CASE("a worker that said hello for another device is asked in a process of its own",
          "[tuner]") {
  const Starts starts;
  const std::vector<tuner::WorkerCommand> workers{starts.worker("refuses_problem")};
  Device one = fake_device(), two = fake_device();
  one.id = "one";
  two.id = "two";
  const auto found = tuner::discover(workers, one, 10);
  const auto plan = tuner::plan_with_workers(small_spec(), two, workers, found);
  CHECK(plan.skipped.size() == 3);
  CHECK(starts.count() == 2);
  CHECK(own_children().empty());
}

TEST_CASE("a worker that nobody asks more than its hello ends with what it said", "[tuner]") {
  const Starts starts;
  tuner::discover({starts.worker("fine")}, fake_device(), 10);
  CHECK(starts.count() == 1);
  CHECK(own_children().empty());
}

TEST_CASE("a process that is started ahead answers the questions of its plan", "[tuner]") {
  const Starts starts;
  auto input = sweep_input(small_spec({"40"}), {starts.worker("fine")});
  const auto found = tuner::discover(input.workers, input.device, 10);
  input.together = true;
  input.device.memory_bytes = std::int64_t{1} << 40;
  int asked = 0;
  input.next_plan = [&](const std::vector<Measurement>& rows, const tuner::Lend& lend) {
    if (asked++ > 0) return tuner::Plan{};
    tuner::Refinement longer{
        small_problem(), {"attend_selected"}, rows[0].executor, {rows[0].variant}};
    longer.problem.seq_lens = {50};
    return tuner::plan_with_workers({longer}, input.spec, input.device, input.workers, found,
                                    {nullptr, std::nullopt, nullptr, lend});
  };
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  CHECK(asked == 2);
  // Twice for a hello, two processes of each plan, and those that the plan of nothing did not need.
  CHECK(starts.count() == 2 + 2 + 2 + 2);
  CHECK(own_children().empty());
}
