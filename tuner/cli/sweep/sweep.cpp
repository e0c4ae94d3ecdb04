// sweep: spec -> plan -> worker processes -> database, then a table of what was measured.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "choices.hpp"
#include "device_choice.hpp"
#include "events.hpp"
#include "files/database_wait.hpp"
#include "interrupt.hpp"
#include "measuring.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/training/directions.hpp"
#include "nsa/store/store.hpp"
#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/foreign_worker.hpp"
#include "nsa/tuner/refine.hpp"
#include "nsa/tuner/sweep.hpp"
#include "options.hpp"
#include "plan_text.hpp"
#include "process_age.hpp"
#include "program.hpp"
#include "progress.hpp"
#include "troubled.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

std::vector<tuner::WorkerCommand> workers_of(const SweepOptions& o, const Device& device) {
  std::vector<tuner::WorkerCommand> workers;
  if (!o.worker || o.with_ours) workers.push_back(our_worker(device));
  if (o.worker) workers.push_back(tuner::shell_worker(*o.worker));
  for (tuner::WorkerCommand& worker : workers)
    worker.memory_bytes = worker_memory_bytes(o.worker_memory);
  return workers;
}

/// What each worker measures on: ours on the device of the sweep, the user's on that of its hello.
std::vector<Device> devices_of(const std::vector<tuner::WorkerCommand>& workers,
                               const Device& device,
                               const std::optional<tuner::ForeignWorker>& foreign) {
  std::vector<Device> devices;
  for (const tuner::WorkerCommand& worker : workers)
    devices.push_back(worker.ours ? device : foreign.value().device);
  return devices;
}

store::RunRequest run_request(const SweepOptions& o, const SweepSpec& spec,
                              const std::vector<Device>& devices,
                              const std::optional<tuner::ForeignWorker>& foreign,
                              double resume_within_s) {
  store::RunRequest request;
  Json document = spec;
  document.erase("budget_s");  // how long one sitting may take does not make another run
  if (foreign) document["worker"] = tuner::to_spec(*foreign);
  if (o.with_ours) document["with_ours"] = true;
  request.spec_json = json_text(document);
  request.spec_hash = hash_hex(request.spec_json);
  request.build_id = build_id();
  request.environment = probes::environment_fingerprint({devices.front()});
  request.libraries = libraries_here();
  for (const Device& device : devices) {
    const bool known = std::any_of(request.devices.begin(), request.devices.end(),
                                   [&](const Device& d) { return d.uuid == device.uuid; });
    if (!known) request.devices.push_back(device);
  }
  request.resume_within_s = resume_within_s;
  request.always_new = o.always_new;
  request.resume_id = o.resume_id;
  return request;
}

/// The parts in the order of their names in the document, with their words for the terminal.
std::vector<std::tuple<const char*, const char*, double>> parts_of(const tuner::TimeBreakdown& l) {
  return {{"discover_s", "discover", l.discover_s},
          {"plan_s", "plan", l.plan_s},
          {"wait_s", "wait", l.wait_s},
          {"start_s", "start", l.start_s},
          {"prepare_s", "prepare", l.prepare_s},
          {"verify_s", "verify", l.verify_s},
          {"recheck_s", "recheck", l.recheck_s},
          {"measure_s", "measure", l.measure_s},
          {"decide_s", "decide", l.decide_s},
          {"store_s", "store", l.store_s},
          {"trace_s", "trace", l.trace_s},
          {"report_s", "report", l.report_s},
          {"program_s", "program", l.program_s},
          {"framework_s", "harness", l.framework_s}};
}

Json breakdown_json(const tuner::TimeBreakdown& breakdown) {
  Json parts = Json::object();
  for (const auto& [key, word, part_s] : parts_of(breakdown)) parts[key] = part_s;
  parts["wall_s"] = breakdown.wall_s;
  return parts;
}

/// "12.3 s (start 0.4, measure 9.8, ...)", without what took no time.
std::string breakdown_text(const tuner::TimeBreakdown& breakdown) {
  std::vector<std::string> parts;
  for (const auto& [key, word, part_s] : parts_of(breakdown))
    if (part_s >= 0.05) parts.push_back(fmt::format("{} {:.1f}", word, part_s));
  return fmt::format("{:.1f} s ({})", breakdown.wall_s, fmt::join(parts, ", "));
}

bool all_noisy(const std::vector<Measurement>& rows) {
  const auto is = [](Outcome outcome) {
    return [outcome](const Measurement& row) { return row.outcome == outcome; };
  };
  return std::ranges::any_of(rows, is(Outcome::noisy)) &&
         std::ranges::none_of(rows, is(Outcome::ok));
}

/// Names them in the last lines, whatever was asked for; --strict makes them an exit code.
ExitCode judge(const Settings& settings, const SweepOptions& o,
               const std::vector<Measurement>& rows) {
  if (rows.empty()) return nothing_judged("sweep: no row of this run was measured");
  const std::vector<std::string> troubled = troubled_variants(rows);
  for (const std::string& line : troubled) say(settings, line);
  if (all_noisy(rows))
    say(settings,
        "sweep: every time is noisy, so that nothing can be decided; sweep again when the machine "
        "is quiet");
  return o.strict && !troubled.empty() ? ExitCode::found : ExitCode::good;
}

/// The database of a sweep and its run in it.
struct Opened {
  store::Store db;
  store::OwnedRun run;
};

Opened open_run(const Settings& settings, const store::RunRequest& request, DatabaseWait& wait) {
  store::Store db = store::Store::open(settings.db_path(), wait.options());
  store::OwnedRun run = db.open_run(request);
  return {std::move(db), std::move(run)};
}

/// What is said at the end: its time goes from the start of the process to this, so that all that
/// takes long is over.
void tell_end(const Settings& settings, const SweepOptions& o, const Json& result,
              const std::string& table) {
  if (o.json_lines) return SweepEvents::end(result);
  settings.json ? print_json(result) : print_fitted(table);
}

/// Closes the database. `started_s`: how long the process had been there at `start`.
ExitCode finish(const Settings& settings, const SweepOptions& o, std::optional<Opened>& opened,
                tuner::SweepReport report, double started_s, TimePoint start) {
  const TimePoint done = std::chrono::steady_clock::now();
  const std::string run_id = opened->run.run().id;
  const bool resumed = opened->run.resumed();
  // Ctrl-C leaves the run open, so that the same command goes on; a spent budget ends it.
  if (report.complete) opened->db.end_run(run_id, RunState::complete);
  if (report.budget_spent) opened->db.end_run(run_id, RunState::incomplete);
  const std::vector<Measurement> rows = opened->db.measurements({.run_id = run_id});
  const bool as_json = settings.json || o.json_lines;
  const reports::ChosenOf chosen = choices_of_run(opened->db, opened->run.run());
  const Json results =
      as_json ? reports::results_json(rows, reports::role_in_catalog, chosen) : Json();
  const std::string table = as_json ? ""
                                    : reports::results_table(rows, settings.style_out(),
                                                             reports::role_in_catalog, chosen);
  report.breakdown.report_s = seconds_since(done);
  const TimePoint ending = std::chrono::steady_clock::now();
  opened.reset();
  report.breakdown.program_s = started_s + seconds_since(ending);
  report.breakdown.close(started_s + seconds_since(start));
  const Json result = as_json ? Json{{"run_id", run_id},
                                     {"resumed", resumed},
                                     {"complete", report.complete},
                                     {"stopped", report.stopped},
                                     {"budget_spent", report.budget_spent},
                                     {"rows_added", report.rows},
                                     {"rows", rows.size()},
                                     {"unsupported", report.unsupported},
                                     {"too_slow", report.too_slow},
                                     {"noisy", report.noisy},
                                     {"failures", report.failures},
                                     {"db", settings.db_path()},
                                     {"time_breakdown", breakdown_json(report.breakdown)},
                                     {"results", results}}
                              : Json();
  tell_end(settings, o, result, table);
  const std::string too_slow =
      report.too_slow > 0 ? fmt::format(", {} left out as too slow", report.too_slow) : "";
  say(settings,
      fmt::format("run {}: {} added, {} unsupported{}, {} noisy, {} failed or wrong; {}{}", run_id,
                  counted(report.rows, "row"), report.unsupported, too_slow, report.noisy,
                  report.failures, breakdown_text(report.breakdown),
                  report.stopped        ? "; stopped, rerun the same command to resume"
                  : report.budget_spent ? "; the budget is spent"
                                        : ""));
  const ExitCode judged = judge(settings, o, rows);
  // `sweep && tune` must not go on with half of the rows.
  return report.stopped ? kStopped : judged;
}

/// A name that nobody has is a slip of the pen; one that runs none of these problems is not.
void require_known_variants(const SweepOptions& o, const std::vector<tuner::Candidate>& candidates,
                            const Device& device) {
  for (const std::string& glob : o.variants) {
    const bool known =
        std::any_of(candidates.begin(), candidates.end(), [&](const tuner::Candidate& candidate) {
          return tuner::matches_any({glob}, candidate.id);
        });
    if (known) continue;
    throw InputError(
        fmt::format("--variant {}: nothing on {} has that name; nsatune variants "
                    "lists ours",
                    glob, device.id));
  }
}

/// Without a worker of the user's, make_spec has found a slip in a stage's name.
void require_known_stages(const SweepOptions& o, const std::vector<tuner::Candidate>& candidates) {
  std::set<std::string> stages;
  for (const tuner::Candidate& candidate : candidates)
    stages.insert(candidate.id.stages.begin(), candidate.id.stages.end());
  for (const std::string& glob : o.stages) {
    const bool known = std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
      return fnmatch(glob.c_str(), stage.c_str(), 0) == 0;
    });
    if (known) continue;
    throw InputError(fmt::format("--stage {}: no worker has it; {}", glob,
                                 stages.empty()
                                     ? "they have no variant at all"
                                     : fmt::format("there are {}", fmt::join(stages, ", "))));
  }
}

/// Launches that save are measured of stages that save something, and both passes of composites.
void require_stages_of_training(const SweepSpec& spec,
                                const std::vector<tuner::Candidate>& candidates) {
  for (const ProblemFamily& family : spec.families) {
    const Direction direction = family.base.direction;
    if (direction != kForwardSaving && direction != kForwardBackward) continue;
    for (const std::string& glob : family.stages.empty() ? spec.stages : family.stages) {
      bool known = false, computed = false;
      for (const tuner::Candidate& candidate : candidates) {
        for (const std::string& stage : candidate.id.stages) {
          if (fnmatch(glob.c_str(), stage.c_str(), 0) != 0) continue;
          known = true;
          computed = computed || candidate.direction == direction;
        }
      }
      if (!known || computed) continue;
      throw InputError(
          fmt::format("families/{}: {} {}", family.name, glob,
                      direction == kForwardSaving
                          ? "saves nothing for the backward pass; measure it with direction forward"
                          : "has no row of both passes; measure attention, layer or model so, and "
                            "stages with direction forward_saving and backward"));
    }
  }
}

/// What is left of the budget; some, so that the sweep itself says that it is spent.
std::optional<double> left_of(std::optional<double> budget_s, TimePoint start,
                              double uncounted_s = 0) {
  if (!budget_s) return {};
  return std::max(*budget_s + uncounted_s - seconds_since(start), 1e-3);
}

/// The lengths that the rows so far ask for, of each executor.
std::vector<tuner::Refinement> refinements_of(const std::vector<Measurement>& rows,
                                              const SweepSpec& spec, const Device& device,
                                              const tuner::Discovery& found,
                                              tuner::Refined& refined) {
  const tuner::Observations all(rows);
  std::vector<tuner::Refinement> refinements;
  for (const auto& [executor, orders] : offered_orders(found)) {
    tuner::DecideInput input;
    input.options.executor = executor;
    input.options.unverified = true;  // it chooses lengths, no variants
    input.variants = tuner::traits_of(executor, device.backend, orders);
    input.rows = all;
    for (tuner::Refinement& one : tuner::refine(input, spec, refined))
      refinements.push_back(std::move(one));
  }
  return refinements;
}

ExitCode measure(const Settings& settings, const SweepOptions& o) {
  const double started_s = process_age_s();
  const TimePoint start = std::chrono::steady_clock::now();
  tuner::TimeBreakdown before;
  const std::atomic<bool>& stop = stop_on_signals();  // before the first worker is started
  const Device device = chosen_device(settings);
  const SweepSpec spec = make_spec(settings, o, device.backend);
  if (o.print_spec) {
    print_json(spec);
    return ExitCode::good;
  }
  const double resume_within_s = parse_duration("--resume-within", o.resume_within);
  const std::vector<tuner::WorkerCommand> workers = workers_of(o, device);
  if (settings.json && o.json_lines)
    throw InputError("--json-lines: its last line has all that --json prints; name one of them");
  ProgressLine line(settings);
  SweepEvents events(line);
  tuner::Reporter& progress = o.json_lines ? static_cast<tuner::Reporter&>(events) : line;
  const tuner::Discovery found =
      tuner::discover(workers, device, 60, {&stop, spec.budget_s, &progress});
  before.discover_s = seconds_since(start);
  if (!stop) require_known_variants(o, found.candidates, device);
  if (!stop && o.worker) require_known_stages(o, found.candidates);
  if (!stop) require_stages_of_training(spec, found.candidates);
  tuner::Plan plan = tuner::plan_with_workers(spec, device, workers, found,
                                              {&stop, left_of(spec.budget_s, start), &progress});
  before.plan_s = seconds_since(start) - before.discover_s;
  if (stop) {
    say(settings, "sweep: stopped before anything was measured");
    return kStopped;
  }
  if (plan.contests.empty()) {
    if (settings.json && o.dry_run) print_json(plan_json(plan, device.id));
    if (!plan.left_out.empty()) return nothing_judged("sweep: " + left_out_line(plan));
    return nothing_judged(fmt::format("sweep: no variant of {} runs any problem of the spec on {}",
                                      o.worker ? "these workers" : "this build", device.id));
  }
  if (o.dry_run) {
    settings.json ? print_json(plan_json(plan, device.id))
                  : print_fitted(plan_text(plan, device.id, spec.budget_s, settings.style_out()) +
                                 counted(std::ssize(plan.skipped), "pair") +
                                 " of variant and problem left out\n");
    return ExitCode::good;
  }
  if (!plan.left_out.empty())
    say(settings, "note: " + left_out_line(plan) + "; --dry-run lists them");
  const auto told = [&](const std::string& text) { progress.note(text); };
  std::atomic<double> waited_s = 0;  // for other processes
  DatabaseWait wait(settings.db_path(), told, &stop, &waited_s);
  if (o.resume_id) {  // in a file that is there: a wrong --db must not make one
    const auto run =
        store::Store::open_existing(settings.db_path(), wait.options()).find_run(*o.resume_id);
    if (run && run->state == RunState::complete) plan.contests.clear();  // nothing is left to do
  }
  std::optional<tuner::ForeignWorker> foreign;
  if (o.worker) foreign = tuner::foreign_worker(*o.worker, found.hellos.back(), host_name());
  const std::vector<Device> devices = devices_of(workers, device, foreign);
  std::optional<Opened> opened =
      open_run(settings, run_request(o, spec, devices, foreign, resume_within_s), wait);
  store::Store& db = opened->db;
  const store::OwnedRun& owned = opened->run;
  say(settings, fmt::format("run {} in {} on {}{}", owned.run().id, settings.db_path(), device.id,
                            owned.resumed() ? " (resumed)" : ""));
  tuner::SweepInput input;
  input.spec = spec;
  input.spec.budget_s = left_of(spec.budget_s, start, waited_s);
  input.uncounted_s = &waited_s;
  input.plan = std::move(plan);
  tuner::Refined refined;
  input.next_plan = [&](const std::vector<Measurement>& rows, const tuner::Lend& lend) {
    return tuner::plan_with_workers(
        refinements_of(rows, spec, device, found, refined), spec, device, workers, found,
        {&stop, left_of(spec.budget_s, start, waited_s), nullptr, lend});
  };
  input.device = device;
  input.workers = workers;
  input.devices = devices;
  input.run_id = owned.run().id;
  input.host = host_name();
  input.earlier = db.measurements({.run_id = owned.run().id, .with_samples = true});
  before.wait_s = waited_s;
  before.store_s = seconds_since(start) - before.discover_s - before.plan_s - before.wait_s;
  input.trace = o.trace;
  input.counters = o.counters;
  add_tracer(input);
  input.stop = &stop;
  input.share = o.share || all_simulated(found);
  // What traces or counts takes a process to itself, and on a CPU idle workers take memory.
  input.together = device.backend == Backend::cuda && !o.worker && !o.trace && !o.counters;
  if (input.together) input.crews = tuner::crews_for(device, spec.policy.processes);
  StoreSink sink(db);
  tuner::SweepReport report = tuner::run_sweep(input, sink, progress);
  line.clear();
  report.breakdown.discover_s = before.discover_s;
  report.breakdown.plan_s += before.plan_s;
  report.breakdown.store_s += before.store_s;
  report.breakdown.wait_s += before.wait_s;
  return finish(settings, o, opened, std::move(report), started_s, start);
}

ExitCode run(const Settings& settings, const SweepOptions& o) {
  try {
    return measure(settings, o);
  } catch (const EnvironmentError&) {  // of a database that somebody held when Ctrl-C came
    if (!stop_on_signals()) throw;
    say(settings, "sweep: stopped; rerun the same command to resume");
    return kStopped;
  }
}

}  // namespace

void add_sweep(Program& program) {
  auto o = std::make_shared<SweepOptions>();
  CLI::App* sub = program.add(
      "sweep", "Measure variants over sequence lengths; every sample goes into the database",
      "  nsatune sweep quick\n"
      "  nsatune sweep default --budget 10m --stage attend_selected --axis seq_len=512,2048\n"
      "  nsatune sweep --dry-run full\n"
      "  nsatune sweep nightly --strict\n"
      "  nsatune sweep quick --axis seq_len=512 --print-spec > sweep.json\n"
      "  nsatune sweep default --json-lines | jq -c 'select(.event == \"contest\")'\n"
      "  nsatune sweep default --device cuda:0 --trace && nsatune db traces\n"
      "  nsatune sweep default --device cuda:0 --counters && nsatune db counters\n"
      "  nsatune sweep --worker 'python3 examples/numpy_worker.py' --with-ours\n"
      "\n"
      "Time on two CPU cores, by the estimate of --dry-run: quick 8 min, ladder and nightly 5 "
      "min,\n"
      "training 24 min, default 1 h 45 min, full 5 h 35 min and what it adds between lengths. full "
      "leaves\n"
      "out contests that are estimated at more than 3 min, which takes 9 days off a CPU's sweep\n"
      "and nothing off an H200's.",
      [&program, o] { return run(program.settings, *o); });
  declare(*sub, *o);
}

}  // namespace nsa::cli
