#include "commands.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "files/database_wait.hpp"
#include "history/time.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kHelp =
    R"(Kept are runs, rows, medians and spreads, how many samples there were, traces and counters. check, report,
selftest, power, bisect, tune, explain, verify and report compare go by medians and say the same as before.
Lost are `db samples` and the samples of `export`. Runs that are open keep theirs. Exit 4 while a sweep measures
into the file. After a kill the same command goes on. A merge with a copy that has the samples brings them back.

Also: --json --quiet --db (see nsatune --help)

Examples:
  nsatune db prune --keep-days 30 --dry-run
  nsatune db prune --before 2026-10-01 --db nightly.sqlite --json)";

struct PruneOptions {
  std::optional<std::int64_t> keep_days;
  std::optional<std::string> before;
  bool dry_run = false;
};

/// The time before which runs began whose samples go: ISO 8601, UTC.
std::string limit_of(const PruneOptions& o) {
  if (o.before) {
    if (!is_date(*o.before))
      throw InputError("--before: '" + *o.before + "' is not a date; 2026-12-31 is one");
    return *o.before + "T00:00:00.000Z";
  }
  if (!o.keep_days) throw InputError("db prune: give --keep-days or --before");
  constexpr std::int64_t kDay = 24 * 3600;
  const std::time_t then = std::time(nullptr) - *o.keep_days * kDay;
  return fmt::format("{:%FT%T}.000Z", fmt::gmtime(then));
}

ExitCode run(const Settings& settings, const PruneOptions& o) {
  const std::string before = limit_of(o);
  auto db = existing_database_to_change(settings);
  const std::int64_t bytes = db.info().bytes;
  const store::Pruned pruned = o.dry_run ? db.prunable(before) : db.prune(before);
  const std::int64_t now = db.info().bytes;
  if (settings.json) {
    print_json({{"path", settings.db_path()},
                {"before", before},
                {"dry_run", o.dry_run},
                {"runs", pruned.runs},
                {"rows", pruned.rows},
                {"samples", pruned.samples},
                {"sample_bytes", pruned.bytes},
                {"bytes_before", bytes},
                {"bytes", now}});
  } else {
    print_text(fmt::format("{} {} of {} of {} that began before {}: {} bytes\n",
                           o.dry_run ? "would drop" : "dropped", counted(pruned.samples, "sample"),
                           counted(pruned.rows, "row"), counted(pruned.runs, "run"), before,
                           pruned.bytes));
    if (!o.dry_run)
      print_text(fmt::format("{}: {} bytes, {} before\n", visible(settings.db_path()), now, bytes));
  }
  return ExitCode::good;
}

}  // namespace

void add_db_prune(Program& program, CLI::App& db) {
  auto o = std::make_shared<PruneOptions>();
  const Settings& settings = program.settings;
  CLI::App* sub = program.add_to(
      db, "prune", "Drops the samples of old runs and keeps the results derived from them", kHelp,
      [&settings, o] { return run(settings, *o); });
  CLI::Option* days =
      sub->add_option("--keep-days", o->keep_days, "Keep samples of runs of the last N days")
          ->check(CLI::Range(std::int64_t{0}, std::int64_t{36'500}));
  sub->add_option("--before", o->before, "Drop samples of runs that began before this day (UTC)")
      ->excludes(days);
  sub->add_flag("--dry-run", o->dry_run, "Only print what would be dropped");
}

}  // namespace nsa::cli
