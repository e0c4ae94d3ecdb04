// Runs a plan: worker processes measure, each visit becomes a row at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nsa/probes/injection.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_subject.hpp"
#include "nsa/schemas/launch_trace.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

/// How a worker is started: ours ({"/path/nsatune", "worker", ...}) or a user's.
struct WorkerCommand {
  std::vector<std::string> argv;
  probes::Variables environment = {};  // beside ours
  bool ours = false;                   // this program: no other may use its executor's name
  std::optional<std::uint64_t> memory_bytes = {};  // that each process may hold; else a share of
                                                   // the machine's on a CPU, and no limit on a GPU
};
/// --worker CMD: a command line for /bin/sh.
WorkerCommand shell_worker(const std::string& command);

/// Where rows go. They are kept when add() returns: a kill after it loses nothing.
/// Called by the thread that sweeps.
class Sink {
 public:
  virtual ~Sink() = default;
  /// False when the row was there already.
  virtual bool add(const Measurement& row) = 0;
  /// What a launch does; kept or not, as the sink likes.
  virtual void add_trace(const LaunchTraceRow&) {}
  /// What the hardware counts during a launch, or why it was not read; likewise.
  virtual void add_counters(const LaunchCountersRow&) {}
  /// How far a selection of reduced precision is the exact one; likewise.
  virtual void add_agreement(const AgreementRow&) {}
};

/// Where a sweep stands, after each visit.
struct Progress {
  std::int64_t contests_done = 0, contests = 0;
  std::int64_t rows = 0, failures = 0;
  double elapsed_s = 0;
  std::optional<double> left_s;  // from the estimates, corrected by what was seen
  std::string contest;           // "attend_selected seq_len 2048"
  std::string variant;           // that was measured last
};
/// Something that was decided while a sweep ran, with its reason.
struct Event {
  /// "contest": it ended, by what. "given_up": a variant gets no more visits in a contest,
  /// or in this process of it.
  /// "failed": it has its one row. "skipped": it is not in the plan.
  std::string kind;
  const Contest* contest = nullptr;  // borrowed for the call; null for "skipped"
  std::string variant;               // "" for "contest"
  std::string reason;
};
/// Who hears of it, from the thread that sweeps. Does nothing by default.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Where the sweep stands, after each visit.
  virtual void progress(const Progress&) {}
  /// One line: a variant failed, was given up, a contest was decided, a device is in use.
  virtual void note(const std::string&) {}
  /// Something was decided; what it points to lasts until the call returns.
  virtual void event(const Event&) {}
};

/// Where the wall time went: parts that do not overlap, and their sum. framework_s is what none of
/// the others explains.
struct TimeBreakdown {
  double discover_s = 0;  // asking workers what they bring
  double plan_s = 0;      // choosing what to measure, at first and by what was measured
  double wait_s = 0;      // for the device, while another process measured on it, for quiet, and
                          // for a database that another process held when it was opened
  double start_s = 0;     // starting and ending worker processes
  double prepare_s = 0;   // inputs and first calls, freeing them
  double verify_s = 0;    // workers comparing what they wrote with the oracle
  double recheck_s = 0;   // the harness comparing some rows of it again
  double measure_s = 0;   // requests that gave samples
  double decide_s = 0;    // whether a contest needs more rounds
  double store_s = 0;     // opening the database, and commits while nothing was measured
  double trace_s = 0;     // seeing what launches do, counting, and asking again what hung
  double report_s = 0;    // reading the rows again and making the table
  double program_s = 0;   // this process starting, and ending what it has open
  double framework_s = 0;
  double wall_s = 0;
  /// Sets wall_s and framework_s.
  void close(double wall_s);
};

class WorkerClient;
/// A worker's process that has said hello and will measure what is planned next; null where none
/// has been started ahead. Borrowed until the plan is made.
using Lend = std::function<WorkerClient*(std::size_t worker)>;

/// What to measure next, by the rows of all contests that were planned so far, in the order in
/// which they were measured. Each stands with one sample, of the medians of its own. A pure
/// function: after a kill the same rows have to give the same plan. Contests that were planned
/// before (by id and first process) are not run again; a plan without others ends the sweep.
/// `lend` gives a process that may answer its questions.
using NextPlan = std::function<Plan(const std::vector<Measurement>& rows, const Lend& lend)>;

struct SweepInput {
  SweepSpec spec;
  Plan plan;
  NextPlan next_plan;  // may be empty: the plan is all there is
  Device device;
  std::vector<WorkerCommand> workers;  // Candidate::worker is an index into it
  std::vector<Device> devices;         // of each worker, as it says; empty: `device` of all
  std::string run_id;
  std::string host;                  // of the placement
  std::vector<Measurement> earlier;  // rows of this run: never measured again, failed or not
  bool trace = false;                // what each variant launches, too
  bool counters = false;             // and what the hardware counts
  std::string tracer_library;        // for a worker that hung on a GPU; empty: none, because
  std::string no_tracer = "no library that traces was given";
  const std::atomic<bool>* stop = nullptr;  // set by Ctrl-C: ends between two visits
  /// Grows by the seconds in which other processes were waited for, by the sink or for the device:
  /// no part of the budget. Null: those of the device alone do not count.
  std::atomic<double>* uncounted_s = nullptr;
  std::string lock_dir;  // of the device lock; empty: the machine's (DeviceLock)
  /// All processes of a contest live at once: while the first one gets ready, so do the others. For
  /// our workers alone, on a device that does not feel a process that does nothing.
  bool together = false;
  /// With `together`: so many groups of processes get contests ready at the same time. Nothing is
  /// measured meanwhile; then the contests measure one after another.
  std::size_t crews = 1;
  bool share = false;  // measure beside others: no lock is taken
};
/// How many crews of so many processes a GPU and this host have room for; 1 at least.
std::size_t crews_for(const Device& device, std::int64_t processes);
/// Where the variants of a candidate run.
inline const Device& device_of(const SweepInput& input, const Candidate& candidate) {
  const auto worker = static_cast<std::size_t>(candidate.worker);
  return worker < input.devices.size() ? input.devices[worker] : input.device;
}
struct SweepReport {
  bool complete = false;  // every contest is done
  bool stopped = false;   // by `stop`
  bool budget_spent = false;
  std::vector<std::string> open;  // ids of the contests of SweepInput::plan that did not end
  std::int64_t rows = 0;          // added now
  std::int64_t unsupported = 0;   // of them: cannot run this problem, or is not in this build
  std::int64_t too_slow = 0;      // of them: left out, as shorter lengths or estimates have it
  std::int64_t noisy = 0;         // of them: measured while the machine was not quiet
  std::int64_t failures = 0;      // of them: not ok for another reason, or wrong
  TimeBreakdown breakdown;
};
/// Runs the plan within spec.budget_s. Outcomes of workers are rows; throws only what the sink
/// throws, or EnvironmentError when no process or file can be made.
SweepReport run_sweep(const SweepInput& input, Sink& sink, Reporter& reporter);

/// How long questions before the first measurement may take, and who hears of a slow answer.
struct Asking {
  const std::atomic<bool>* stop = nullptr;  // as in SweepInput
  std::optional<double> budget_s;           // of all questions of one call, besides their deadline
  Reporter* reporter = nullptr;
  Lend lend = {};  // who may answer instead of a process started for the questions
};

class OpenWorkers;

/// What the workers say they bring.
struct Discovery {
  std::vector<worker::HelloReply> hellos;  // one a command
  std::vector<Candidate> candidates;
  /// Commands that did not answer `describe` in time, over all plans; never null.
  std::shared_ptr<std::set<std::size_t>> silent = std::make_shared<std::set<std::size_t>>();
  /// The processes that said so, for the first plan: that ends them, else they end with this.
  std::shared_ptr<OpenWorkers> open = {};
};
/// Starts each worker once and asks it; it has `deadline_s` seconds for an answer. InputError when
/// one does not answer as the protocol says, EnvironmentError when it cannot use the device. After
/// a stop: what was said until then.
Discovery discover(const std::vector<WorkerCommand>& workers, const Device& device,
                   double deadline_s, const Asking& asking = {});
/// The plan, with support and cost as the workers describe them, the first one in the processes
/// that said hello. None of them lives on. A worker that cannot describe is believed to support
/// everything: prepare will tell. One that does not answer is asked once.
Plan plan_with_workers(const SweepSpec& spec, const Device& device,
                       const std::vector<WorkerCommand>& workers, const Discovery& discovery,
                       const Asking& asking = {});

}  // namespace nsa::tuner
