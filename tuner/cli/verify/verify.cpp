// verify: a part of a thresholds file is measured again; does it still hold?
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "files/database_wait.hpp"
#include "files/read_document.hpp"
#include "interrupt.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/foreign_worker.hpp"
#include "nsa/tuner/verify_table.hpp"
#include "program.hpp"
#include "report.hpp"
#include "stale_ranges.hpp"
#include "sweep/measuring.hpp"
#include "sweep/options.hpp"
#include "sweep/plan_text.hpp"
#include "sweep/progress.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

/// Half of the interval of the mean loss beyond which the times say nothing.
constexpr double kMostUncertain = 0.05;

struct VerifyOptions {
  std::string file;
  std::string budget = "60s";
  std::optional<std::string> worker, worker_memory;
  std::uint64_t seed = 1;
  int inside = 2;
  double most_mean = 1, most_worst = 15;  // percent
  bool dry_run = false;
  bool share = false;  // the device with others
};

SweepSpec spec_of(const VerifyOptions& o, const ThresholdTable& table) {
  SweepSpec spec;
  spec.name = "verify";
  spec.seed = o.seed;
  spec.policy.samples = 1;
  spec.policy.processes = 2;
  spec.policy.min_rounds = 3;
  spec.policy.max_rounds = 4;  // a tenth of what the tuning took is to be enough
  spec.policy.visit_target_s = 0.06;
  spec.policy.give_up_ratio = table.device.backend == Backend::cpu ? 8 : 3;
  spec.policy.refine = false;
  return spec;
}

/// By what tells most of the file, else as they are. Contests of one rank may then be sorted.
void put_first_what_tells_most(tuner::Plan& plan, const ThresholdTable& table) {
  const std::vector<int> ranks = tuner::trial_ranks(table, plan.contests);
  std::vector<std::size_t> order(plan.contests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ranks[i]; });
  std::vector<tuner::Contest> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(plan.contests[i]));
  plan.contests = std::move(sorted);
}

/// Contests in an order of the seed's, a place of each range first, as long as they fit the budget:
/// another seed tries others. For our own workers alone: how fast somebody else's device is nobody
/// knows before it measures, so that there the budget itself ends what does not fit.
std::size_t keep_what_fits(tuner::Plan& plan, const ThresholdTable& table, std::uint64_t seed,
                           double budget_s) {
  constexpr double kShare = 0.6;  // estimates leave out starting and verifying
  const std::size_t before = plan.contests.size();
  std::ranges::sort(plan.contests, {}, [&](const tuner::Contest& contest) {
    return hash_hex(fmt::format("{}/{}", seed, contest.id));
  });
  put_first_what_tells_most(plan, table);
  plan.estimated_s = 0;
  std::erase_if(plan.contests, [&](const tuner::Contest& contest) {
    if (plan.estimated_s + contest.estimated_s > kShare * budget_s) return true;
    plan.estimated_s += contest.estimated_s;
    return false;
  });
  std::ranges::stable_sort(plan.contests, {}, &tuner::Contest::estimated_s);
  put_first_what_tells_most(plan, table);
  return before - plan.contests.size();
}

/// They are not judged.
std::size_t count_undecided(const ThresholdTable& table) {
  std::size_t count = 0;
  const auto add = [&](const std::vector<ThresholdRange>& ranges) {
    count += static_cast<std::size_t>(
        std::ranges::count(ranges, Basis::undecided, &ThresholdRange::basis));
  };
  for (const ClassDecisions& of_class : table.classes) {
    for (const Decision& decision : of_class.decisions) {
      add(decision.ranges);
      if (decision.alignment) add(decision.alignment->ranges);
    }
  }
  return count;
}

/// The file is good, and this machine is not the one to verify it: whatever device it is of.
void require_same_model(const ThresholdTable& table, const std::string& file,
                        const Device& device) {
  if (device_file_name(table.device) == device_file_name(device)) return;
  throw EnvironmentError(
      fmt::format("{}: was decided on {}, and {} is {}; verify it where it is used", file,
                  table.device.name, device.id, device.name));
}

/// The device that was asked for, else that of the file.
Device device_to_verify_on(const Settings& settings, const VerifyOptions& o,
                           const ThresholdTable& table) {
  if (settings.device || o.worker) return probes::require_device(settings.device.value_or("cpu"));
  try {
    return probes::require_device(table.device.id);
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("{}: was decided on {}; verify it where it is used: {}",
                                       o.file, table.device.name, error.what()));
  }
}

/// Then rows that nobody could verify judge it, too.
bool rests_on_unverified(const ThresholdTable& table) {
  for (const ClassDecisions& of_class : table.classes) {
    for (const Decision& decision : of_class.decisions) {
      const auto unverified = [](const ThresholdRange& range) { return range.evidence.unverified; };
      if (std::ranges::any_of(decision.ranges, unverified)) return true;
    }
  }
  return false;
}

tuner::DecideInput judged_rows(const store::Store& db, const std::string& run_id,
                               const ThresholdTable& table,
                               const std::vector<tuner::VariantTraits>& traits) {
  tuner::DecideInput input;
  input.device = table.device;
  input.variants = traits;
  input.options.executor = table.executor;
  input.options.unverified = rests_on_unverified(table);
  db.for_each_measurement({.run_id = run_id, .with_samples = true}, [&](const Measurement& row) {
    if (row.executor == table.executor) input.rows.add(row);
  });
  return input;
}

store::RunRequest run_request(const SweepSpec& spec, const ThresholdTable& table,
                              const Device& device,
                              const std::optional<tuner::ForeignWorker>& foreign) {
  store::RunRequest request;
  Json document = spec;
  document["verifies"] = hash_hex(Json(table).dump());
  if (foreign) document["worker"] = tuner::to_spec(*foreign);
  request.spec_json = json_text(document);
  request.spec_hash = hash_hex(request.spec_json);
  request.build_id = build_id();
  request.environment = probes::environment_fingerprint({device});
  request.libraries = libraries_here();
  request.devices.push_back(device);
  request.always_new = true;  // the question is how it is now
  return request;
}

/// Who measures, on what.
struct Bench {
  Device device;
  std::vector<tuner::WorkerCommand> workers;
  tuner::Discovery found;
  std::optional<tuner::ForeignWorker> foreign;
};

Bench find_bench(const Settings& settings, const VerifyOptions& o, const ThresholdTable& table,
                 const tuner::Asking& asking) {
  Bench bench;
  bench.device = device_to_verify_on(settings, o, table);
  bench.workers = {o.worker ? tuner::shell_worker(*o.worker) : our_worker(bench.device)};
  bench.workers.front().memory_bytes = worker_memory_bytes(o.worker_memory);
  bench.found = tuner::discover(bench.workers, bench.device, 60, asking);
  if (o.worker && !*asking.stop) {
    bench.foreign = tuner::foreign_worker(*o.worker, bench.found.hellos.back(), host_name());
    bench.device = bench.foreign->device;
  }
  return bench;
}

tuner::SweepInput sweep_input(const Bench& bench, const SweepSpec& spec, tuner::Plan plan,
                              const std::string& run_id, const std::atomic<bool>& stop) {
  tuner::SweepInput input;
  input.spec = spec;
  input.plan = std::move(plan);
  input.device = bench.device;
  input.workers = bench.workers;
  input.devices = {bench.device};
  input.run_id = run_id;
  input.host = host_name();
  input.stop = &stop;
  add_tracer(input);
  return input;
}

/// Places that the budget ended before they could be judged.
std::size_t count_unjudged(const tuner::Plan& plan, const std::vector<std::string>& open,
                           const tuner::TrialReport& report) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.contests, [&](const tuner::Contest& contest) {
        if (std::ranges::find(open, contest.id) == open.end()) return false;
        return std::ranges::none_of(report.trials, [&](const tuner::Trial& trial) {
          return trial.stages == contest.stages &&
                 trial.problem_class == class_of(contest.problem) &&
                 axis_value(contest.problem, trial.axis) == trial.at;
        });
      }));
}

ExitCode code_of(const VerifyOutcome& outcome) {
  if (!outcome.broken.empty()) return ExitCode::found;
  const tuner::TrialReport& report = outcome.report;
  const bool known = report.decided > 0 && report.high - report.mean <= kMostUncertain;
  return known ? ExitCode::good : ExitCode::nothing_judged;
}

/// What a worker of somebody else leaves out shows only as it measures.
void tell_plan(const Settings& settings, const tuner::Plan& plan, const Bench& bench,
               std::size_t left_out) {
  if (settings.json) return print_json(plan_json(plan, bench.device.id));
  const std::string left = bench.foreign ? "measured in this order until the budget is spent\n"
                                         : fmt::format("{} left out for the budget\n", left_out);
  print_fitted(plan_text(plan, bench.device.id, std::nullopt, settings.style_out()) + left);
}

ExitCode run(const Settings& settings, const VerifyOptions& o) {
  const TimePoint start = std::chrono::steady_clock::now();
  const std::atomic<bool>& stop = stop_on_signals();
  const ThresholdTable table = read_thresholds(o.file);
  if (table.executor != kOwnExecutor && !o.worker)
    throw InputError(
        fmt::format("{}: was decided for {}; --worker CMD starts it", o.file, table.executor));
  const double budget_s = parse_duration("--budget", o.budget);
  ProgressLine line(settings);
  const Bench bench = find_bench(settings, o, table, {&stop, budget_s, &line});
  if (stop) return kStopped;
  require_same_model(table, o.file, bench.device);
  const auto traits = tuner::traits_of(table.executor, bench.device.backend,
                                       offered_orders(bench.found)[table.executor]);
  SweepSpec spec = spec_of(o, table);
  const auto places = tuner::trial_places(table, traits, o.seed, o.inside);
  tuner::Plan plan = tuner::plan_with_workers(places, spec, bench.device, bench.workers,
                                              bench.found, {&stop, budget_s});
  VerifyOutcome outcome;
  outcome.file = o.file;
  outcome.undecided = count_undecided(table);
  if (bench.foreign)
    put_first_what_tells_most(plan, table);
  else
    outcome.left_out = keep_what_fits(plan, table, o.seed, budget_s);
  if (stop) return kStopped;
  if (o.dry_run) {
    tell_plan(settings, plan, bench, outcome.left_out);
    return ExitCode::good;
  }
  std::atomic<double> waited_s = 0;  // for other processes
  DatabaseWait wait(
      settings.db_path(), [&](const std::string& text) { line.note(text); }, &stop, &waited_s);
  store::Store db = store::Store::open(settings.db_path(), wait.options());
  const store::OwnedRun owned = db.open_run(run_request(spec, table, bench.device, bench.foreign));
  outcome.run_id = owned.run().id;
  spec.budget_s = std::max(budget_s + waited_s - seconds_since(start), 1e-3);
  StoreSink sink(db);
  tuner::SweepInput input = sweep_input(bench, spec, std::move(plan), outcome.run_id, stop);
  input.share = o.share || all_simulated(bench.found);
  input.uncounted_s = &waited_s;
  const tuner::SweepReport swept = tuner::run_sweep(input, sink, line);
  line.clear();
  db.end_run(outcome.run_id, swept.complete ? RunState::complete : RunState::incomplete);
  if (swept.stopped) return kStopped;
  outcome.report = judge_table(table, judged_rows(db, outcome.run_id, table, traits));
  outcome.left_out += count_unjudged(input.plan, swept.open, outcome.report);
  outcome.broken = broken_limits(outcome.report, {o.most_mean / 100, o.most_worst / 100});
  for (std::string& reason : outdated_ranges(table, bench.found.candidates))
    outcome.broken.push_back(std::move(reason));
  outcome.code = code_of(outcome);
  outcome.wall_s = seconds_since(start);
  return tell(settings, outcome);
}

}  // namespace

void add_verify(Program& program) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* sub = program.add(
      "verify", "Measure part of a thresholds file again, to see whether it still holds",
      "  nsatune verify thresholds.json\n"
      "  nsatune verify kernels/tuned/nvidia_h200.json --budget 30s --seed \"$(date +%j)\"\n"
      "  nsatune verify thresholds.json --worker 'python3 my_worker.py' --json\n"
      "Exit code: 0 it holds, 1 it does not, 2 bad input, 3 nothing could be judged, 4 this "
      "machine cannot do it, as where the file was decided on another device.",
      [&program, o] { return run(program.settings, *o); });
  sub->add_option("file", o->file, "Thresholds file, decided on this model of device")->required();
  sub->add_option("--budget", o->budget, "Time limit: 30s, 5m")->capture_default_str();
  sub->add_option("--seed", o->seed, "Seed of the random lengths")
      ->check(whole_number())
      ->capture_default_str();
  sub->add_option("--inside", o->inside, "Random lengths to measure for each decision")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  sub->add_option("--most-mean", o->most_mean, "Mean loss in % above which it no longer holds")
      ->check(number_in(0, 1000))
      ->capture_default_str();
  sub->add_option("--most-worst", o->most_worst,
                  "Loss in % at one length above which it no longer holds")
      ->check(number_in(0, 1000))
      ->capture_default_str();
  sub->add_option("--worker", o->worker, "Command of the worker whose variants the file decides");
  sub->add_flag("--dry-run", o->dry_run, "Print what would be measured; measure nothing");
  declare_worker_memory(*sub, o->worker_memory);
  declare_share(*sub, o->share);
}

}  // namespace nsa::cli
