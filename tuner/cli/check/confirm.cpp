#include "confirm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "files/database_wait.hpp"
#include "interrupt.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/tuner/foreign_worker.hpp"
#include "series_jobs.hpp"
#include "sweep/measuring.hpp"
#include "sweep/options.hpp"
#include "sweep/progress.hpp"

namespace nsa::cli {
namespace {

/// Both builds on a device, ready to measure.
struct Bench {
  tuner::SideBySide builds;
  std::string old_executor, new_executor;
};

std::vector<std::string> names_to_confirm(const nightly::Report& report) {
  std::vector<std::string> names;
  for (const nightly::Verdict& verdict : report.series) {
    const bool asks = verdict.state == nightly::State::suspect || verdict.regression;
    if (asks) names.push_back(verdict.name);
  }
  return names;
}

tuner::WorkerCommand old_worker(const ConfirmOptions& o, const Device& device) {
  if (o.worker) return tuner::shell_worker(*o.old_build);
  const std::string program = std::filesystem::absolute(*o.old_build).string();
  return {{program, "worker", "--device", device.id}, {}, true};
}

/// Asks both builds who they are, so that one that is no worker is said before anything is
/// measured.
Bench bench_of(const ConfirmOptions& o, const Device& then, ProgressLine& line) {
  Bench bench;
  tuner::SideBySide& builds = bench.builds;
  builds.device = probes::require_device(then.id);
  builds.pairs = o.pairs;
  builds.stop = &stop_on_signals();
  builds.old_build = old_worker(o, builds.device);
  builds.new_build = o.worker ? tuner::shell_worker(*o.worker) : our_worker(builds.device);
  const tuner::Discovery found = tuner::discover({builds.old_build, builds.new_build},
                                                 builds.device, 60, {builds.stop, {}, &line});
  if (found.hellos.size() < 2) return bench;  // stopped
  builds.share = o.share || all_simulated(found);
  bench.old_executor = found.hellos[0].executor;
  bench.new_executor = found.hellos[1].executor;
  if (o.worker)
    builds.device = tuner::foreign_worker(*o.worker, found.hellos[1], host_name()).device;
  return bench;
}

/// Why these builds cannot measure the series, or "".
std::string mismatch(const Bench& bench, const SeriesJob& series) {
  for (const auto& [build, executor] :
       {std::pair("old", bench.old_executor), {"new", bench.new_executor}}) {
    if (executor != series.executor)
      return fmt::format("the {} build measures for '{}', the series is of '{}'", build, executor,
                         series.executor);
  }
  if (bench.builds.device.name != series.device.name)
    return fmt::format("{} is {} here", bench.builds.device.id, bench.builds.device.name);
  return "";
}

class Confirmer {
 public:
  Confirmer(const Settings& settings, const ConfirmOptions& o)
      : options_(o), line_(settings), budget_s_(parse_duration("--confirm-budget", o.budget)) {}

  nightly::Confirmation measure(const std::string& name, const SeriesJob& series) {
    nightly::Confirmation result;
    result.series = name;
    Bench& bench = bench_for(series.device);
    result.failure = mismatch(bench, series);
    if (!result.failure.empty()) return result;
    bench.builds.budget_s = std::max(0.0, budget_s_ + waited_s_ - seconds_since(start_));
    tuner::PairedTimes times = tuner::measure_side_by_side(series.job, bench.builds, line_);
    waited_s_ += times.waited_s;
    result.old_and_new = std::move(times.old_and_new);
    result.failure = std::move(times.failure);
    return result;
  }
  void say_progress(std::size_t done, std::size_t all) {
    line_.note(fmt::format("confirming: {} of {} series", done, all));
  }

 private:
  Bench& bench_for(const Device& device) {
    const auto found = benches_.find(device.id);
    if (found != benches_.end()) return found->second;
    return benches_.emplace(device.id, bench_of(options_, device, line_)).first->second;
  }

  const ConfirmOptions& options_;
  ProgressLine line_;
  double budget_s_;
  double waited_s_ = 0;  // for other processes: no part of the budget
  TimePoint start_ = std::chrono::steady_clock::now();
  std::map<std::string, Bench> benches_;  // by id of the device
};

}  // namespace

void declare_confirm(CLI::App& sub, ConfirmOptions& o) {
  sub.add_flag("--confirm", o.on,
               "Measure regressed series again, with the build of --old beside this one, and judge "
               "by the result");
  sub.add_option(
      "--old", o.old_build,
      "nsatune of the previous build; with --worker, the command of that build's worker");
  sub.add_option("--worker", o.worker,
                 "Command of the new build's worker, for series that a worker of yours measured");
  sub.add_option("--pairs", o.pairs, "Pairs of processes, one of each build (default 5)")
      ->check(CLI::Range(5, 1000));
  declare_share(sub, o.share);
  sub.add_option("--confirm-budget", o.budget, "Time limit of --confirm: 30s, 10m (default 10m)");
}

void check_confirm_flags(const ConfirmOptions& o, bool csv) {
  if (!o.on) {
    if (o.old_build) throw InputError("--old: goes with --confirm");
    if (o.worker) throw InputError("--worker: goes with --confirm");
    if (o.share) throw InputError("--share: goes with --confirm");
    return;
  }
  if (csv) throw InputError("--confirm: a CSV file does not say what to run; use the database");
  if (!o.old_build) throw InputError("--confirm: name the build before with --old");
  parse_duration("--confirm-budget", o.budget);
  if (o.worker) return;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(*o.old_build, ignored) ||
      access(o.old_build->c_str(), X_OK) != 0)
    throw InputError("--old " + *o.old_build +
                     ": is not a program; name the nsatune of that build");
}

std::vector<nightly::Confirmation> confirm(const Settings& settings, const ConfirmOptions& o,
                                           const nightly::Report& report) {
  const std::vector<std::string> names = names_to_confirm(report);
  if (names.empty()) return {};
  const auto jobs = series_jobs(existing_database(settings), names);
  Confirmer confirmer(settings, o);
  std::vector<nightly::Confirmation> confirmations;
  for (const std::string& name : names) {
    confirmer.say_progress(confirmations.size(), names.size());
    const auto job = jobs.find(name);
    confirmations.push_back(job == jobs.end()
                                ? nightly::Confirmation{name, {}, "has no row with a time"}
                                : confirmer.measure(name, job->second));
    if (stop_on_signals()) break;
  }
  return confirmations;
}

}  // namespace nsa::cli
