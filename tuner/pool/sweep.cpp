#include "nsa/tuner/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>

#include "plan/contest_id.hpp"
#include "pool/account.hpp"
#include "pool/batches.hpp"
#include "pool/contest_runner.hpp"
#include "pool/kept_rows.hpp"
#include "pool/time_left.hpp"
#include "pool/workers/scratch_folder.hpp"

namespace nsa::tuner {
namespace {

// Short enough for a stop of the clocks or of the user to cost little, long against a worker's
// start. Where all processes of a batch live at once, its contests end one after another, so that a
// stop costs one of them however long the batch is.
constexpr double kBatchS = 30, kTogetherBatchS = 600;
constexpr std::size_t kBatchContests = 96;
constexpr double kTellS = 0.05;
// What lengths that are added to those of a spec take, of the time of these.
constexpr double kAddedLengths = 0.4;
constexpr double kAddedAnyhow = 3;  // contests: a crossing is as far to bisect for few lengths

using RowsByContest = std::map<std::string, std::vector<const Measurement*>>;

RowsByContest group_by_contest(const std::vector<Measurement>& rows) {
  RowsByContest grouped;
  for (const Measurement& row : rows)
    grouped[contest_id(row.problem, row.variant.stages, row.launch)].push_back(&row);
  return grouped;
}

std::string title_of(const Contest& contest) {
  const Problem& p = contest.problem;
  return fmt::format("{} {} {} {}", fmt::join(contest.stages, "+"), to_string(p.phase),
                     p.phase == Phase::decode ? "context_len" : "seq_len",
                     p.phase == Phase::decode ? p.max_context() : p.max_seq_len());
}

class Sweep {
 public:
  Sweep(const SweepInput& input, Sink& sink, Reporter& reporter)
      : input_(input),
        reporter_(reporter),
        interrupt_(input.stop, input.spec.budget_s, input.uncounted_s),
        kept_(sink),
        writer_(input, input.next_plan ? kept_ : sink, report_),
        turn_(input_, interrupt_, reporter, report_.breakdown, [this] { writer_.flush(); }),
        outlook_(catalog_traits(input.device.backend)),
        shared_{.input = input_,
                .interrupt = interrupt_,
                .writer = writer_,
                .reporter = reporter_,
                .breakdown = report_.breakdown,
                .turn = turn_,
                .verified = verified_,
                .controls = controls_,
                .power_limits = power_limits_,
                .neighbours = neighbours_},
        earlier_(group_by_contest(input.earlier)) {
    if (input.together)
      turn_.set_lanes(static_cast<std::size_t>(input.spec.policy.processes), input.crews);
    for (const Measurement& row : input.earlier) {
      verified_.restore(row);
      known_.insert(row.job_key);
    }
    if (input.next_plan) kept_.keep_all(input.earlier);
  }

  SweepReport run() {
    bool complete = run_plan(input_.plan);
    while (complete && input_.next_plan) {
      const Plan more = next_plan();
      if (more.contests.empty()) break;
      complete = run_plan(more);
    }
    report_.complete = complete;
    report_.stopped = interrupt_.stopped();
    report_.budget_spent = !complete && !report_.stopped;
    for (const Contest& contest : input_.plan.contests)
      if (!ended_.contains(contest.id)) report_.open.push_back(contest.id);
    report_.breakdown.close(seconds_since(start_));
    return report_;
  }

 private:
  /// False when the user or the budget ended it first.
  bool run_plan(const Plan& plan) {
    of_spec_ = &plan == &input_.plan;
    add_skipped(plan);
    numbers_.clear();
    contests_ += static_cast<std::int64_t>(plan.contests.size());
    for (const Contest& contest : plan.contests) {
      numbers_[&contest] = time_left_.add(contest);
      planned_.insert({contest.id, contest.first_process});
    }
    if (of_spec_ && input_.next_plan && input_.spec.policy.refine)
      time_left_.expect_more(kAddedLengths + kAddedAnyhow / static_cast<double>(contests_));
    // A process that was traced is not fresh any more, so that its contest has it alone.
    const bool alone = input_.trace || input_.counters;
    const double most_s = turn_.lanes() > 1 ? kTogetherBatchS : kBatchS;
    const auto batches = make_batches(plan, most_s, alone ? 1 : kBatchContests);
    for (std::size_t i = 0; i < batches.size();) {
      const auto some = std::span(batches).subspan(i, std::min(turn_.crews(), batches.size() - i));
      if (interrupt_.requested() || !run_batches(some)) return false;
      i += some.size();
    }
    return true;
  }

  /// The contests that the rows so far ask for. A resume finds rows of later plans, too: they do
  /// not count before their contest is planned again.
  Plan next_plan() {
    turn_.start_ahead();  // planning takes about as long as a GPU's worker to start
    const Account account(report_.breakdown.plan_s);
    Plan plan = input_.next_plan(kept_.rows_of(planned_, input_.spec.policy.processes),
                                 [this](std::size_t worker) { return turn_.lend(worker); });
    std::erase_if(plan.contests, [&](const Contest& contest) {
      return planned_.contains({contest.id, contest.first_process});
    });
    return plan;
  }

  void add_skipped(const Plan& plan) {
    const Timer timer = timer_of(input_.spec.policy, input_.device);
    for (const Skipped& skipped : plan.skipped) {
      const MeasurePolicy policy = with_launch(input_.spec.policy, skipped.launch);
      const std::string key = failure_key(skipped.problem, skipped.variant, policy, timer);
      if (!known_.insert(key).second) continue;
      Measurement row = writer_.blank(skipped.problem, skipped.variant, {});
      row.launch = skipped.launch;
      row.held_out = skipped.held_out;
      writer_.commit_failure(std::move(row), skipped.variant, skipped.outcome, skipped.reason);
      reporter_.event({"skipped", nullptr, to_string(skipped.variant.id), skipped.reason});
    }
  }

  using Runners = std::vector<std::unique_ptr<ContestRunner>>;

  /// They have fresh processes.
  bool run_batches(std::span<const Batch> batches) {
    Runners runners;
    const std::vector<const Measurement*> none;
    for (const auto& [contest, crew] : place_in_crews(batches, turn_.crews())) {
      const auto found = earlier_.find(contest->id);
      runners.push_back(std::make_unique<ContestRunner>(
          shared_, *contest, found == earlier_.end() ? none : found->second, folder_.subfolder()));
      runners.back()->join(crew);
    }
    bool complete = true;
    try {
      if (turn_.lanes() > 1)
        run_in_crews(runners);
      else
        run_processes(runners);
    } catch (const Interrupted&) {
      complete = false;
    }
    writer_.flush();
    turn_.end();
    folder_.clear();
    return complete;
  }

  /// All processes of a contest live at once, and those of several contests get ready at once.
  void run_in_crews(const Runners& runners) {
    for (std::size_t i = 0; i < runners.size();) {
      const std::size_t end = i + count_at_once(std::span(runners).subspan(i));
      get_ready(std::span(runners).subspan(i, end - i));
      for (; i < end; ++i) run_contest(*runners[i]);
    }
  }

  /// How many of them, from the first on, may get ready at once.
  std::size_t count_at_once(std::span<const std::unique_ptr<ContestRunner>> runners) const {
    std::vector<const Contest*> contests;
    for (const auto& runner : runners) {
      contests.push_back(&runner->contest());
      if (contests.size() > 1 && (contests.size() > kContestsOfCrew * turn_.crews() ||
                                  !fit_in_lanes(contests, turn_.lanes(), input_.device)))
        return contests.size() - 1;
    }
    return contests.size();
  }

  void get_ready(std::span<const std::unique_ptr<ContestRunner>> runners) {
    if (turn_.crews() == 1) return;  // each begins by itself
    if (interrupt_.requested()) throw Interrupted{};
    turn_.begin();
    ReadyGroup group;
    for (const auto& runner : runners) runner->get_ready_ahead(outlook_, of_spec_, group);
    {
      const Account account(report_.breakdown.start_s);
      turn_.join_starts();
    }
    const TimePoint started = Clock::now();
    turn_.join_ahead();
    TimePoint prepared = started;
    for (const auto& runner : runners)
      prepared = std::max(prepared, runner->prepared_at().value_or(started));
    report_.breakdown.prepare_s += std::chrono::duration<double>(prepared - started).count();
    report_.breakdown.verify_s += seconds_since(prepared);
  }

  void run_contest(ContestRunner& runner) {
    const std::int64_t processes = input_.spec.policy.processes;
    bool measured = false;
    for (std::int64_t p = 0; p < processes; ++p) measured = run_process(runner, p) || measured;
    runner.leave();
    end_contest(runner, measured);
  }

  void run_processes(const Runners& runners) {
    const std::int64_t processes = input_.spec.policy.processes;
    std::set<const Contest*> measured;
    for (std::int64_t p = 0; p < processes; ++p) {
      for (const auto& runner : runners) {
        if (run_process(*runner, p)) measured.insert(&runner->contest());
        const double done = static_cast<double>(p + 1);
        if (measured.contains(&runner->contest()))
          time_left_.reach(numbers_.at(&runner->contest()), done / static_cast<double>(processes));
        runner->leave();
        if (p + 1 == processes) end_contest(*runner, measured.contains(&runner->contest()));
      }
      turn_.end();  // the next process number has fresh ones
    }
  }

  /// Whether anything was measured.
  bool run_process(ContestRunner& runner, std::int64_t process) {
    const Contest& contest = runner.contest();
    bool measured = false;
    TimePoint last = Clock::now();
    const auto spend = [&] {
      const TimePoint now = Clock::now();
      time_left_.spend(numbers_.at(&contest), std::chrono::duration<double>(now - last).count());
      last = now;
    };
    if (process == 0) runner.leave_out(outlook_, of_spec_);
    runner.run_process(process, [&](const Candidate& candidate) {
      measured = true;
      spend();
      tell(contest, &candidate);
    });
    spend();
    if (process == 0) runner.report_to(outlook_);  // longer lengths may follow in this process
    return measured;
  }

  void end_contest(ContestRunner& runner, bool measured) {
    const Contest& contest = runner.contest();
    runner.finish();
    runner.report_to(outlook_);
    time_left_.finish(numbers_.at(&contest), measured);
    ended_.insert(contest.id);
    ++contests_done_;
    if (measured) reporter_.event({"contest", &contest, "", runner.ended_by()});
    tell(contest);
  }

  /// No more than the budget has left.
  std::optional<double> left_s(double elapsed_s) const {
    const double outside_s = elapsed_s - report_.breakdown.wait_s - time_left_.spent_s();
    std::optional<double> left = time_left_.left_s(outside_s);
    if (left && input_.spec.budget_s) left = std::clamp(interrupt_.left_s(), 0.0, *left);
    return left;
  }

  /// Not after each of ten thousand visits: the time left is made from all contests.
  void tell(const Contest& contest, const Candidate* candidate = nullptr) {
    const TimePoint now = Clock::now();
    if (candidate && now < next_told_) return;
    next_told_ = now + seconds(kTellS);
    Progress progress;
    progress.contests_done = contests_done_;
    progress.contests = contests_;
    progress.rows = report_.rows;
    progress.failures = report_.failures;
    progress.elapsed_s = seconds_since(start_);
    progress.left_s = left_s(progress.elapsed_s);
    progress.contest = title_of(contest);
    if (candidate) progress.variant = to_string(candidate->id);
    reporter_.progress(progress);
  }

  const SweepInput& input_;
  Reporter& reporter_;
  const TimePoint start_ = Clock::now();
  SweepReport report_;
  Interrupt interrupt_;
  KeptRows kept_;
  std::set<std::string> known_;  // keys of earlier rows, and of those of what plans left out
  PlannedContests planned_;
  RowWriter writer_;
  Turn turn_;
  Verified verified_;
  ControlSpread controls_;
  PowerLimits power_limits_;
  Neighbours neighbours_;
  Outlook outlook_;
  bool of_spec_ = false;  // the plan that runs now is that of the spec, not of added lengths
  Shared shared_;
  ScratchFolder folder_;
  RowsByContest earlier_;
  std::int64_t contests_ = 0, contests_done_ = 0;
  TimePoint next_told_{};
  TimeLeft time_left_;
  std::set<std::string> ended_;                    // ids of contests
  std::map<const Contest*, std::size_t> numbers_;  // of the plan that runs now
};

/// Whether a command line is one program with its arguments. It takes the shell's place then, so
/// that the signal that ends it with us reaches it.
bool one_program(const std::string& command) {
  if (command.find_first_of(";&|(){}`#\n") != command.npos) return false;
  const std::size_t first = command.find_first_not_of(" \t");
  if (first == command.npos) return false;
  const std::string word = command.substr(first, command.find_first_of(" \t", first) - first);
  if (word.find_first_of("=$\"'\\~*?[<>!") != word.npos) return false;
  if (word.find('/') != word.npos) return true;
  const char* path = std::getenv("PATH");  // what is not there is a word of the shell: exit, cd
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + word).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

WorkerCommand shell_worker(const std::string& command) {
  // The last word is what errors quote; to the shell it is its own name.
  if (one_program(command)) return {{"/bin/sh", "-c", "exec " + command, command}};
  return {{"/bin/sh", "-c", command}};
}

void TimeBreakdown::close(double wall) {
  wall_s = wall;
  framework_s = wall - discover_s - plan_s - wait_s - start_s - prepare_s - verify_s - recheck_s -
                measure_s - decide_s - store_s - trace_s - report_s - program_s;
}

SweepReport run_sweep(const SweepInput& input, Sink& sink, Reporter& reporter) {
  return Sweep(input, sink, reporter).run();
}

}  // namespace nsa::tuner
