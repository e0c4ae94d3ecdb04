// Two builds beside each other: the same variant on the same problem, in turns, in fresh processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/tuner/sweep.hpp"

namespace nsa::tuner {

/// What a fresh process measures.
struct FreshJob {
  Problem problem;
  VariantId variant;
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  bool cold = true;
  std::int64_t samples = 1;  // a visit
  std::uint64_t seed = 1;    // of the inputs
  double deadline_s = 60;    // of a request
};

/// What came of a process.
struct FreshTime {
  std::optional<double> median_ns;  // of a few visits
  std::string failure;              // why there is none
  bool noisy = false;               // the device was throttled: again may be better
  bool stopped = false;             // by `stop` or a budget; says nothing
};

/// Starts a worker, prepares, measures and ends it. Its device is to be locked by the caller.
/// EnvironmentError where no process can be made.
FreshTime measure_fresh(const WorkerCommand& command, const Device& device, const FreshJob& job,
                        const std::atomic<bool>* stop, std::optional<double> budget_s);

/// The lock that a sweep takes of a device, until the object ends. One thread at a time; threads
/// and processes that wait for one device take turns.
class DeviceTurn {
 public:
  /// Waits for it as long as it takes, and says for whom. False from held() where `stop` came
  /// first. `share`: takes no lock and waits for nobody.
  DeviceTurn(const Device& device, const std::atomic<bool>* stop, Reporter& reporter,
             bool share = false, const std::string& lock_dir = "");
  ~DeviceTurn();
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  /// Whether the device may be measured on: the lock is ours, or none was wanted.
  bool held() const noexcept { return held_; }
  /// For how long another process was waited for.
  double waited_s() const noexcept { return waited_s_; }

 private:
  struct Lock;
  std::unique_ptr<Lock> lock_;
  bool held_ = false;  // or shared
  double waited_s_ = 0;
};

struct SideBySide {
  WorkerCommand old_build, new_build;
  Device device;
  int pairs = 5;
  std::optional<double> budget_s;  // without the time that other processes were waited for
  const std::atomic<bool>* stop = nullptr;
  bool share = false;  // measure beside others
};

/// Medians in ns; the two of a pair follow each other, old first in every other pair.
struct PairedTimes {
  std::vector<std::pair<double, double>> old_and_new;
  std::string failure;  // why there are fewer pairs than asked for
  bool stopped = false;
  double waited_s = 0;  // for other processes, to have the device
};

/// Throttled pairs are measured again, as often as pairs are wanted; any other failure ends it.
PairedTimes measure_side_by_side(const FreshJob& job, const SideBySide& builds, Reporter& reporter);

}  // namespace nsa::tuner
