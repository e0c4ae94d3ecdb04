// The contestants of one contest in the worker processes of this turn: getting ready, and visits.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pool/checks/noise.hpp"
#include "pool/checks/output_check.hpp"
#include "pool/checks/verified.hpp"
#include "pool/contestant.hpp"
#include "pool/rows.hpp"
#include "pool/workers/ready_ahead.hpp"
#include "pool/workers/turn.hpp"

namespace nsa::tuner {

/// What all contests of a sweep share.
struct Shared {
  const SweepInput& input;
  Interrupt& interrupt;
  RowWriter& writer;
  Reporter& reporter;
  TimeBreakdown& breakdown;
  Turn& turn;
  Verified& verified;
  ControlSpread& controls;
  PowerLimits& power_limits;
  Neighbours& neighbours;
  std::set<std::string> told = {};  // reasons why nothing was counted, each said once
};

class WorkerSet {
 public:
  /// `folder`: a place for files that is removed with the contest.
  WorkerSet(Shared& shared, const Contest& contest, std::shared_ptr<OutputCheck> check,
            std::vector<Contestant>& contestants, std::string folder);

  /// The lanes of this crew are its own.
  void join(std::size_t crew) { first_lane_ = crew * shared_.turn.lanes(); }
  /// Has its lanes start what is missing, prepare the contestants that are `wanted`, and verify
  /// those that no contest of the group does, while the caller does something else than measure.
  /// Before begin_process().
  void get_ready_ahead(const std::function<bool(const Contestant&)>& wanted, ReadyGroup& group);
  /// When all that get_ready_ahead() began had been prepared; after Turn::join_ahead().
  std::optional<TimePoint> prepared_at() const { return ahead_.prepared_at(); }
  /// Nothing is prepared in the processes of this turn. Those that were wrong on another problem of
  /// this class get their row and are out.
  void begin_process(std::int64_t process);
  /// Starts what is missing, prepares every contestant that needs it, and verifies those that were
  /// not on a problem of this kind. Those that fail get their row and are out. Throws Interrupted.
  void ready();
  /// A round begins: its visits shall find the device in one state.
  void begin_round();
  /// One visit: samples, or the row of a failure. Throws Interrupted.
  void measure(Contestant& contestant, const Visit& visit, const std::string& pair_id);
  /// What a launch of each contestant does, once a contest; its processes are not fresh any more.
  void trace_all();
  /// What the hardware counts during one, or why not; after trace_all().
  void count_all();
  /// The contest leaves these processes: its handles are not needed any more.
  void retire();
  /// It leaves the processes of all lanes.
  void retire_all();

 private:
  /// `ask` for each contestant that has a handle and was not `asked` before.
  template <class Ask>
  void ask_all(bool Contestant::*asked, Ask ask);
  void trace(const Contestant& contestant);
  void count(const Contestant& contestant);
  bool wants_handle(const Contestant& contestant) const;
  std::size_t index_of(const Contestant& contestant) const {
    return static_cast<std::size_t>(&contestant - contestants_.data());
  }
  /// Whether any contestant wants a handle.
  bool wanted() const;
  /// Has lanes from `first` to the end of the crew prepare those that are `wanted`; what they were
  /// given.
  std::vector<ReadyAhead::Job> begin_ahead(std::size_t first,
                                           const std::function<bool(const Contestant&)>& wanted);
  /// Whether its outputs say something that is not known yet.
  bool wants_check(const Contestant& contestant) const;
  void prepare_all();
  void verify_all();
  bool start_worker(std::size_t index);
  void exclude_wrong();
  void prepare(Contestant& contestant);
  /// Whether the processes of other contests were ended, once, since they may hold the memory that
  /// was not there. What this contest had prepared is gone, too.
  bool make_room();
  /// The answer of the worker, which may be there already.
  Answer<worker::PreparedReply> prepared(const Contestant& contestant);
  /// Our comparison of what a contestant wrote, on a thread of its own.
  struct RunningCheck {
    RunningCheck(Contestant& of, std::future<CheckResult> future)
        : contestant(of), result(std::move(future)) {}
    Contestant& contestant;
    std::future<CheckResult> result;
  };
  /// Asks the worker, then takes the result of the running comparison and starts that of this one.
  void verify(Contestant& contestant, std::optional<RunningCheck>& running);
  /// What the worker says of its outputs. `prepare`: meanwhile ours are made.
  Answer<worker::VerifiedReply> verified(const Contestant& contestant,
                                         const worker::VerifyRequest& request, bool prepare);
  void take_result(RunningCheck& running);
  void take_result(Contestant& contestant, const CheckResult& result);
  void pick_control();
  /// Those of a worker that is gone.
  void drop_handles(std::size_t worker);
  /// The row of a visit but for its samples.
  Measurement visit_row(const Contestant& contestant, const Visit& visit,
                        const std::string& pair_id) const;
  /// Why the samples do not count, or "". Notes what was odd, but the same for all of the round.
  std::string noise_of(const Contestant& contestant, const Block& block, Measurement& row,
                       const std::optional<CoreWait>& waited, double visit_s);
  std::string control_noise(const Contestant& contestant, const Block& block, double median_ns);
  void fail(Contestant& contestant, Outcome outcome, const std::string& why, const Visit& visit);
  /// The row of a request that was not answered. What hung on a GPU is asked once more before it.
  void fail_request(Contestant& contestant, Outcome outcome, std::string reason,
                    const Visit& visit);
  std::string retry(const Contestant& contestant);
  void reject(Contestant& contestant, const CheckResult& result);
  /// Puts out whatever answered a request twice.
  void fail_repeats(std::size_t worker);
  /// Whose handle that is already, in the same worker, or null. A control may share its original's.
  Contestant* owner_of(std::int64_t handle, const Contestant& asking);
  Believable believable(const Contestant& contestant, double wall_s);
  WorkerClient& client(const Contestant& contestant);
  const Contestant& original_of(const Contestant& contestant) const;
  /// The row of the table that a candidate of ours is; null for a foreign worker's.
  const Variant* row_of(const Candidate& candidate) const;
  double deadline_s(double estimate_s) const;
  /// Of a worker that makes its inputs itself.
  worker::PrepareRequest plain_request(const Contestant& contestant) const;
  worker::PrepareRequest prepare_request(const Contestant& contestant);
  worker::MeasureRequest measure_request(const Contestant& contestant) const;
  double prepare_deadline_s(const Contestant& contestant) const;
  double measure_deadline_s(const Contestant& contestant) const;
  std::int64_t samples_for(const Contestant& contestant) const;
  std::string doing(const char* verb, const Contestant& contestant) const;

  Shared& shared_;
  const Contest& contest_;
  const MeasurePolicy policy_;
  std::shared_ptr<OutputCheck> check_;
  std::vector<Contestant>& contestants_;
  std::string folder_;
  std::int64_t process_ = 0;
  std::size_t first_lane_ = 0;
  ReadyAhead ahead_;
  bool ahead_begun_ = false;
  bool released_ = false;             // what earlier contests left, in this process number
  bool cleared_ = false;              // in this process number, for want of memory
  std::optional<bool> power_capped_;  // the first visit of this round
};

}  // namespace nsa::tuner
