// What the tests of the pool share: a sink in memory, a plan over the fake worker.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "nsa/tuner/sweep.hpp"

namespace nsa::test {

class MemorySink : public tuner::Sink {
 public:
  bool add(const Measurement& row) override {
    if (!keys_.insert(row.job_key).second) return false;
    rows.push_back(row);
    if (after_row) after_row(rows.size());
    return true;
  }
  std::vector<Measurement> of(const std::string& variant) const {
    std::vector<Measurement> found;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
                 [&](const Measurement& row) { return row.variant.name == variant; });
    return found;
  }
  void add_trace(const LaunchTraceRow& row) override { traces.push_back(row); }
  void add_counters(const LaunchCountersRow& row) override { counters.push_back(row); }
  void add_agreement(const AgreementRow& row) override { agreements.push_back(row); }
  std::vector<Measurement> rows;
  std::vector<AgreementRow> agreements;
  std::vector<LaunchTraceRow> traces;
  std::vector<LaunchCountersRow> counters;
  void (*after_row)(std::size_t) = nullptr;

 private:
  std::set<std::string> keys_;
};

class Notes : public tuner::Reporter {
 public:
  void progress(const tuner::Progress& progress) override { last = progress; }
  void note(const std::string& line) override { lines.push_back(line); }
  void event(const tuner::Event& event) override {
    events.push_back(event);
    events.back().contest = nullptr;
  }
  /// Reasons of the events of a kind, "variant: reason" where there is one.
  std::vector<std::string> of(const std::string& kind) const {
    std::vector<std::string> reasons;
    for (const tuner::Event& event : events) {
      if (event.kind != kind) continue;
      reasons.push_back(event.variant.empty() ? event.reason : event.variant + ": " + event.reason);
    }
    return reasons;
  }
  std::vector<tuner::Event> events;
  tuner::Progress last;
  std::vector<std::string> lines;
};

/// Locks of made-up devices lie in a folder of this test program, which goes with it.
class OwnLockFolder {
 public:
  OwnLockFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nsatune_locks_XXXXXX").string();
    if (!mkdtemp(name.data())) return;
    path_ = name;
    setenv("NSATUNE_LOCK_DIR", name.c_str(), 1);
  }
  ~OwnLockFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  OwnLockFolder(const OwnLockFolder&) = delete;
  OwnLockFolder& operator=(const OwnLockFolder&) = delete;

 private:
  std::filesystem::path path_;
};
inline const OwnLockFolder own_lock_folder;

/// A device of this test process alone: programs that run side by side do not wait for each other.
inline Device fake_device(const std::string& name = "test-device") {
  Device device;
  device.uuid = name + "-" + std::to_string(getpid());
  device.name = "a CPU";
  device.multiprocessors = 2;
  return device;
}

inline Problem small_problem(std::int64_t seq_len = 70) {
  Problem problem;
  problem.seq_lens = {seq_len};
  problem.q_heads = 4;
  problem.kv_heads = 2;
  problem.head_dim_k = 8;
  problem.head_dim_v = 6;
  problem.geometry = {8, 4, 16, 4, 24};
  return problem;
}

/// All processes of a contest live at once, on a device that has room for them.
inline tuner::SweepInput together(tuner::SweepInput input) {
  input.together = true;
  input.device.memory_bytes = std::int64_t{1} << 40;
  return input;
}

/// And those of several contests.
inline tuner::SweepInput in_crews(tuner::SweepInput input, std::size_t crews = 2) {
  input = together(std::move(input));
  input.crews = crews;
  return input;
}

inline tuner::WorkerCommand fake(const std::string& mode, int ms = 1) {
  return {{NSA_FAKE_WORKER, mode, std::to_string(ms)}, {}, mode == "as_nsatune"};
}

/// A spec of one or more lengths, two processes with one round each, deadlines of `deadline_s`.
inline SweepSpec small_spec(const std::vector<std::string>& lengths = {"70"},
                            double deadline_s = 5) {
  SweepSpec spec;
  spec.policy.samples = 2;
  spec.policy.processes = 2;
  spec.policy.min_rounds = 1;
  spec.policy.max_rounds = 1;
  spec.policy.deadline_s = deadline_s;
  spec.policy.visit_target_s = 10;
  spec.policy.give_up_ratio = 1000;
  spec.policy.verify_rows = 12;
  spec.policy.noise_gate = false;  // tests run side by side
  spec.families = {{"small", small_problem(), {{"seq_len", lengths}}, {"attend_selected"}, {}, {}}};
  return spec;
}

inline tuner::SweepInput sweep_input(const SweepSpec& spec,
                                     const std::vector<tuner::WorkerCommand>& workers,
                                     const std::string& device = "test-device") {
  tuner::SweepInput input;
  input.spec = spec;
  input.device = fake_device(device);
  input.workers = workers;
  input.run_id = "run";
  input.host = "here";
  const auto found = tuner::discover(workers, input.device, 10);
  input.plan = tuner::plan_with_workers(spec, input.device, workers, found);
  return input;
}

/// Children of this process that are still there, zombies included.
inline std::vector<std::string> own_children() {
  std::vector<std::string> children;
  const std::string self = std::to_string(getpid());
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const std::string pid = entry->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    FILE* file = std::fopen(("/proc/" + pid + "/stat").c_str(), "r");
    if (!file) continue;
    char name[64], state = 0;
    int parent = 0;
    if (std::fscanf(file, "%*d %63s %c %d", name, &state, &parent) == 3 &&
        std::to_string(parent) == self)
      children.push_back(std::string(name) + " " + state);
    std::fclose(file);
  }
  closedir(proc);
  return children;
}

}  // namespace nsa::test
