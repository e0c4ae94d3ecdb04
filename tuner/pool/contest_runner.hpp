// One contest: rounds of interleaved visits in several fresh processes, until it is decided.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pool/device_lock.hpp"
#include "pool/team.hpp"

namespace nsa::tuner {

class ContestRunner {
 public:
  /// `earlier`: rows of this contest from before; `folder`: an empty place for files.
  ContestRunner(Shared& shared, const Contest& contest,
                const std::vector<const Measurement*>& earlier, const std::string& folder,
                DeviceLock& lock);
  /// Measures what is missing; calls `after_visit` with each variant that was visited. False when
  /// the user or the budget ended it first.
  bool run(const std::function<void(const Offer&)>& after_visit);

 private:
  void restore(const Measurement& row);
  void run_process(std::int64_t process, const std::function<void(const Offer&)>& after_visit);
  void run_round(std::int64_t process, std::int64_t round,
                 const std::function<void(const Offer&)>& after_visit);
  void begin(std::int64_t process);
  void end();
  bool wants(std::size_t slot, const Block& block) const;
  bool enough(std::int64_t round);
  std::size_t slots() const;

  Shared& shared_;
  const Contest& contest_;
  const MeasurePolicy& policy_;
  OutputCheck check_;
  std::vector<Contestant> contestants_;  // as in the contest; the A/A twin behind them
  Team team_;
  DeviceLock& lock_;
  bool begun_ = false;  // this process number has the device and its workers
};

}  // namespace nsa::tuner
