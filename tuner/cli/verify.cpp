// verify: a part of a thresholds file is measured again; does it still hold?
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "interrupt.hpp"
#include "measuring.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/foreign_worker.hpp"
#include "nsa/tuner/verify_table.hpp"
#include "program.hpp"
#include "stale_ranges.hpp"
#include "sweep_options.hpp"
#include "sweep_progress.hpp"
#include "tune_executor.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

/// Half of the interval of the mean loss beyond which the times say nothing.
constexpr double kMostUncertain = 0.05;

struct VerifyOptions {
  std::string file;
  std::string budget = "60s";
  std::optional<std::string> worker;
  std::uint64_t seed = 1;
  int inside = 2;
  double most_mean = 1, most_worst = 15;  // percent
  bool dry_run = false;
};

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

SweepSpec spec_of(const VerifyOptions& o, const ThresholdTable& table) {
  SweepSpec spec;
  spec.name = "verify";
  spec.seed = o.seed;
  spec.policy.samples = 1;
  spec.policy.processes = 2;
  spec.policy.min_rounds = 3;
  spec.policy.max_rounds = 8;
  spec.policy.visit_target_s = 0.06;
  spec.policy.give_up_ratio = 3;
  spec.policy.refine = false;
  if (table.device.backend == Backend::cpu) spec.policy.give_up_ratio = 8;
  return spec;
}

/// Contests in an order of the seed's, as long as they fit the budget: another seed tries others.
std::size_t keep_what_fits(tuner::Plan& plan, std::uint64_t seed, double budget_s) {
  constexpr double kShare = 0.6;  // estimates leave out starting and verifying
  const std::size_t before = plan.contests.size();
  std::ranges::sort(plan.contests, {}, [&](const tuner::Contest& contest) {
    return hash_hex(fmt::format("{}/{}", seed, contest.id));
  });
  plan.estimated_s = 0;
  std::erase_if(plan.contests, [&](const tuner::Contest& contest) {
    if (plan.estimated_s + contest.estimated_s > kShare * budget_s) return true;
    plan.estimated_s += contest.estimated_s;
    return false;
  });
  std::ranges::stable_sort(plan.contests, {}, &tuner::Contest::estimated_s);
  return before - plan.contests.size();
}

void require_same_model(const ThresholdTable& table, const std::string& file,
                        const Device& device) {
  if (device_file_name(table.device) == device_file_name(device)) return;
  throw InputError(fmt::format("{}: was decided on {}, and {} is {}; verify it where it is used",
                               file, table.device.name, device.id, device.name));
}

Json trial_json(const tuner::Trial& trial) {
  Json j = {{"kind", to_string(trial.kind)},
            {"problem_class", trial.problem_class},
            {"stages", trial.stages},
            {"axis", to_string(trial.axis)},
            {"at", trial.at},
            {"chosen", trial.chosen},
            {"best", trial.best}};
  if (trial.failure.empty()) {
    j["regret"] = trial.regret;
    j["interval"] = {trial.low, trial.high};
  } else {
    j["failure"] = trial.failure;
  }
  return j;
}

struct Outcome {
  tuner::TrialReport report;
  std::vector<std::string> broken;
  std::size_t planned = 0, left_out = 0;
  std::string run_id;
  double wall_s = 0;
  ExitCode code = ExitCode::good;
};

Json outcome_json(const Outcome& outcome, const VerifyOptions& o) {
  Json trials = Json::array();
  for (const tuner::Trial& trial : outcome.report.trials) trials.push_back(trial_json(trial));
  return {{"schema_version", 1},
          {"exit_code", static_cast<int>(outcome.code)},
          {"file", o.file},
          {"holds", outcome.code == ExitCode::good},
          {"mean_regret", outcome.report.mean},
          {"interval", {outcome.report.low, outcome.report.high}},
          {"p95_regret", outcome.report.p95},
          {"worst_regret", outcome.report.worst},
          {"decided", outcome.report.decided},
          {"failures", outcome.report.failures},
          {"trials", trials},
          {"left_out", outcome.left_out},
          {"reasons", outcome.broken},
          {"run_id", outcome.run_id},
          {"wall_s", outcome.wall_s}};
}

std::string trials_text(const tuner::TrialReport& report, bool color) {
  constexpr std::size_t kShown = 12;
  std::vector<const tuner::Trial*> worst;
  for (const tuner::Trial& trial : report.trials) worst.push_back(&trial);
  std::ranges::stable_sort(worst, [](const tuner::Trial* a, const tuner::Trial* b) {
    if (a->failure.empty() != b->failure.empty()) return b->failure.empty();
    return a->regret > b->regret;
  });
  if (worst.size() > kShown) worst.resize(kShown);
  reports::TextTable table;
  table.add_column("loss", reports::Align::right);
  table.add_column("95 %", reports::Align::right);
  table.add_column("place");
  table.add_column("length", reports::Align::right);
  table.add_column("class");
  table.add_column("chosen");
  table.add_column("best");
  for (const tuner::Trial* trial : worst) {
    const bool failed = !trial->failure.empty();
    table.add_row(
        {failed ? trial->failure : fmt::format("{:.2f} %", 100 * std::max(0.0, trial->regret)),
         failed ? "" : fmt::format("[{:.2f}, {:.2f}]", 100 * trial->low, 100 * trial->high),
         std::string(to_string(trial->kind)),
         fmt::format("{} {}", to_string(trial->axis), trial->at), to_string(trial->problem_class),
         trial->chosen, trial->best == trial->chosen ? "=" : trial->best});
  }
  return table.render({.color = color}, 2);
}

std::string summary(const Outcome& outcome) {
  const tuner::TrialReport& r = outcome.report;
  return fmt::format(
      "{} places in its ranges: loses {:.2f} % on average [{:.2f}, {:.2f}], {:.2f} % at the 95th "
      "percentile, {:.1f} % at worst; {} beyond them, {} failed, {} left out for the budget; "
      "{:.1f} s\n",
      r.decided, 100 * r.mean, 100 * r.low, 100 * r.high, 100 * r.p95, 100 * r.worst,
      std::ssize(r.trials) - r.decided - r.failures, r.failures, outcome.left_out, outcome.wall_s);
}

ExitCode tell(const Settings& settings, const Outcome& outcome, const VerifyOptions& o) {
  if (settings.json) {
    print_json(outcome_json(outcome, o));
    return outcome.code;
  }
  print_text(trials_text(outcome.report, settings.color_out()) + summary(outcome));
  for (const std::string& line : outcome.broken) print_text("  " + line + "\n");
  const char* verdict = outcome.code == ExitCode::good ? "holds"
                        : outcome.code == ExitCode::nothing_judged
                            ? outcome.report.decided == 0
                                  ? "was not judged: nothing of it could be measured here"
                                  : "was not judged: noise hides what it loses; try a quiet "
                                    "machine, or a longer --budget"
                            : "no longer holds: sweep and tune again";
  print_text(fmt::format("{} {}\n", o.file, verdict));
  return outcome.code;
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

std::map<VariantId, worker::Orders> orders_of(const tuner::Discovery& found) {
  std::map<VariantId, worker::Orders> orders;
  for (const tuner::Offer& offer : found.offers) orders[offer.id] = offer.order;
  return orders;
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
  request.devices.push_back(device);
  request.always_new = true;  // the question is how it is now
  return request;
}

std::string dry_run_text(const tuner::Plan& plan, std::size_t left_out) {
  std::string text;
  for (const tuner::Contest& c : plan.contests)
    text +=
        fmt::format("  {:<24} {} seq_len {} context {}: {} variants, {:.1f} s\n",
                    fmt::join(c.stages, "+"), to_string(c.problem.phase), c.problem.max_seq_len(),
                    c.problem.max_context(), c.variants.size(), c.estimated_s);
  return text + fmt::format("{} places, about {:.0f} s; {} left out for the budget\n",
                            plan.contests.size(), plan.estimated_s, left_out);
}

ExitCode run(const Settings& settings, const VerifyOptions& o) {
  const TimePoint start = std::chrono::steady_clock::now();
  const std::atomic<bool>& stop = stop_on_signals();
  const ThresholdTable table = load_thresholds(o.file);
  if (table.executor != kOwnExecutor && !o.worker)
    throw InputError(
        fmt::format("{}: was decided for {}; --worker CMD starts it", o.file, table.executor));
  const double budget_s = parse_duration("--budget", o.budget);
  Device device =
      probes::require_device(settings.device.value_or(o.worker ? "cpu" : table.device.id));
  std::vector<tuner::WorkerCommand> workers{o.worker ? tuner::shell_worker(*o.worker)
                                                     : our_worker(device)};
  ProgressLine line(settings);
  const tuner::Discovery found = tuner::discover(workers, device, 60, {&stop, budget_s, &line});
  if (stop) return kStopped;
  std::optional<tuner::ForeignWorker> foreign;
  if (o.worker) {
    foreign = tuner::foreign_worker(*o.worker, found.hellos.back(), host_name());
    device = foreign->device;
  }
  require_same_model(table, o.file, device);
  const auto traits = tuner::traits_of(table.executor, device.backend, orders_of(found));
  SweepSpec spec = spec_of(o, table);
  const auto places = tuner::trial_places(table, traits, o.seed, o.inside);
  Outcome outcome;
  tuner::SweepInput input;
  input.plan = tuner::plan_with_workers(places, spec, device, workers, found, {&stop, budget_s});
  outcome.left_out = keep_what_fits(input.plan, o.seed, budget_s);
  if (stop) return kStopped;
  if (o.dry_run) {
    print_text(dry_run_text(input.plan, outcome.left_out));
    return ExitCode::good;
  }
  store::Store db = store::Store::open(settings.db_path());
  const store::OwnedRun owned = db.open_run(run_request(spec, table, device, foreign));
  outcome.run_id = owned.run().id;
  spec.budget_s = std::max(budget_s - seconds_since(start), 1e-3);
  outcome.planned = input.plan.contests.size();
  input.spec = spec;
  input.device = device;
  input.workers = workers;
  input.devices = {device};
  input.run_id = outcome.run_id;
  input.host = host_name();
  add_tracer(input);
  input.stop = &stop;
  StoreSink sink(db);
  const tuner::SweepReport swept = tuner::run_sweep(input, sink, line);
  line.clear();
  db.end_run(outcome.run_id, swept.complete ? RunState::complete : RunState::incomplete);
  if (swept.stopped) return kStopped;
  outcome.report = judge_table(table, judged_rows(db, outcome.run_id, table, traits));
  outcome.broken = broken_limits(outcome.report, {o.most_mean / 100, o.most_worst / 100});
  if (!o.worker) {
    for (std::string& stale : stale_notes(table)) outcome.broken.push_back(std::move(stale));
  }
  if (!outcome.broken.empty())
    outcome.code = ExitCode::found;
  else if (outcome.report.decided == 0 ||
           outcome.report.high - outcome.report.mean > kMostUncertain)
    outcome.code = ExitCode::nothing_judged;
  outcome.wall_s = seconds_since(start);
  return tell(settings, outcome, o);
}

}  // namespace

void add_verify(Program& program) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* sub = program.add(
      "verify", "Measure a part of a thresholds file again: does it still hold?",
      "  nsatune verify thresholds.json\n"
      "  nsatune verify kernels/tuned/nvidia_h200.json --budget 30s --seed \"$(date +%j)\"\n"
      "  nsatune verify thresholds.json --worker 'python3 my_worker.py' --json\n"
      "Exit code: 0 it holds, 1 it does not, 2 bad input, 3 nothing could be judged.",
      [&program, o] { return run(program.settings, *o); });
  sub->add_option("file", o->file, "Thresholds file, of this model of device")->required();
  sub->add_option("--budget", o->budget, "Time that it may take: 30s, 5m")->capture_default_str();
  sub->add_option("--seed", o->seed, "Another seed tries other lengths")
      ->check(whole_number())
      ->capture_default_str();
  sub->add_option("--inside", o->inside, "Random lengths of each decision")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  sub->add_option("--most-mean", o->most_mean, "Mean loss in % above which it no longer holds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub->add_option("--most-worst", o->most_worst,
                  "Loss in % at one length above which it no longer holds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub->add_option("--worker", o->worker, "Command of the worker whose variants the file decides");
  sub->add_flag("--dry-run", o->dry_run, "Only say what would be measured");
}

}  // namespace nsa::cli
