// bisect time: one fresh process of a worker measures a series of the database.
#include <fmt/format.h>

#include <memory>

#include "bisect.hpp"
#include "check/series_jobs.hpp"
#include "files/database_wait.hpp"
#include "interrupt.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/variant_text.hpp"
#include "sweep/progress.hpp"

namespace nsa::cli {
namespace {

struct TimeOptions {
  std::string series, worker;
};

ExitCode run(const Settings& settings, const TimeOptions& o) {
  const auto jobs = series_jobs(existing_database(settings), {with_current_point(o.series)});
  if (jobs.empty())
    throw InputError("--series " + o.series + ": " + settings.db_path() +
                     " has no row of it; nsatune check --json lists all");
  const SeriesJob& series = jobs.begin()->second;
  const std::atomic<bool>& stop = stop_on_signals();
  const Device device = probes::require_device(settings.device.value_or(series.device.id));
  ProgressLine line(settings);
  const tuner::DeviceTurn turn(device, &stop, line);
  if (!turn.held()) return kStopped;
  const tuner::FreshTime time =
      tuner::measure_fresh(tuner::shell_worker(o.worker), device, series.job, &stop, {});
  if (time.stopped) return kStopped;
  if (!time.median_ns) throw EnvironmentError("bisect time: " + time.failure);
  if (settings.json) {
    print_json({{"median_ns", *time.median_ns}});
  } else {
    print_text(fmt::format("{}\n", *time.median_ns));
  }
  return ExitCode::good;
}

}  // namespace

void add_bisect_time(Program& program, CLI::App& bisect) {
  auto o = std::make_shared<TimeOptions>();
  const Settings& settings = program.settings;
  CLI::App* sub = program.add_to(
      bisect, "time", "The time in ns of a series of the database, from one fresh process",
      "Also: --json --quiet --db --device (see nsatune --help)\n\nExamples:\n  nsatune bisect time "
      "--db nightly.sqlite --series 'attend_selected/masked ...' --worker 'build/bin/nsatune "
      "worker'",
      [&settings, o] { return run(settings, *o); });
  sub->add_option("--series", o->series, "Full name of the series, as check prints it")->required();
  sub->add_option("--worker", o->worker, "Command of the worker that measures it")->required();
}

}  // namespace nsa::cli
