// One contest: rounds of interleaved visits in each of several fresh processes, until it is
// decided.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pool/outlook.hpp"
#include "pool/workers/worker_set.hpp"

namespace nsa::tuner {

class ContestRunner {
 public:
  /// `earlier`: rows of this contest from before; `folder`: an empty place for files.
  ContestRunner(Shared& shared, const Contest& contest,
                const std::vector<const Measurement*>& earlier, const std::string& folder);
  /// Its processes are those of this crew.
  void join(std::size_t crew) { workers_.join(crew); }
  /// Has all of its processes prepare it, and one check its outputs, while the caller does
  /// something else than measure; not what has rows from before. `outlook`, `keep_rivals`: as
  /// leave_out() will be asked.
  void get_ready_ahead(const Outlook& outlook, bool keep_rivals, ReadyGroup& group);
  /// When all of that was prepared; after Turn::join_ahead().
  std::optional<TimePoint> prepared_at() const { return workers_.prepared_at(); }
  /// Measures what is missing of its process number `index` (0, 1, ...) in the processes of this
  /// turn; calls `after_visit` with each variant that was visited. Throws Interrupted.
  void run_process(std::int64_t index, const std::function<void(const Candidate&)>& after_visit);
  /// No process of this turn is needed any more.
  void leave() { workers_.retire_all(); }
  const Contest& contest() const noexcept { return contest_; }
  /// Puts out those that shorter lengths leave no chance; they come back where nobody else is left.
  /// `keep_rivals`: but for those whose times the users' programs need.
  void leave_out(const Outlook& outlook, bool keep_rivals);
  /// All of its processes are done: a row for each that was left out says why.
  void finish();
  /// Tells what was measured.
  void report_to(Outlook& outlook) const { outlook.add(contest_, contestants_); }
  /// What ended its last process: "decided", "rounds" or "noise".
  const std::string& ended_by() const noexcept { return ended_by_; }

 private:
  void restore(const Measurement& row);
  std::optional<std::string> why_left_out(const Contestant& contestant, const Outlook& outlook,
                                          bool keep_rivals) const;
  void run_rounds(std::int64_t process, const std::function<void(const Candidate&)>& after_visit);
  void run_round(std::int64_t process, std::int64_t round,
                 const std::function<void(const Candidate&)>& after_visit);
  void begin(std::int64_t process);
  bool wants(std::size_t slot, const Block& block) const;
  bool beaten(const Contestant& contestant, std::int64_t process) const;
  /// Whether no further round is needed in this process, by what was known before that round.
  bool enough(std::int64_t process, std::int64_t round);
  void tell_given_up();
  /// What was left out competes after all where those that it was left out for failed: by what they
  /// said at shorter lengths nothing would be measured here. Whether there was any.
  bool take_back();
  std::int64_t most_rounds(std::int64_t process) const;
  /// Rounds of this process before that one in which a visit was noisy.
  std::int64_t noisy_rounds(std::int64_t process, std::int64_t round) const;
  /// Waits a little after a noisy round that took so long, in the hope of a quiet machine.
  void back_off(double round_s) const;
  std::size_t slots() const;

  Shared& shared_;
  const Contest& contest_;
  const MeasurePolicy policy_;
  std::shared_ptr<OutputCheck> check_;
  std::vector<Contestant> contestants_;  // as in the contest; the A/A control after them
  WorkerSet workers_;
  std::string ended_by_;
  bool begun_ = false;  // it was visited in the processes of this turn
};

}  // namespace nsa::tuner
