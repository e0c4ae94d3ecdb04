#include "database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "nights_of_runs.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/executor.hpp"
#include "series_name.hpp"

namespace nsa::cli {
namespace {

/// A series within one night.
struct Collected {
  /// By run and process; a board that is in several placements of a run has several of one number.
  std::multimap<std::pair<std::size_t, std::int64_t>, store::ProcessTimes> processes;
  std::string variant, source_hash, executor;
  std::string failure, failed_at;  // the last one
  bool possible = false;           // somebody tried it
  bool dense = false;              // of the table of variants
};

/// Dense attention, of libraries mostly: nobody works on it here, so that it moves with the
/// machine.
bool is_dense(const Measurement& row) {
  if (row.executor != kOwnExecutor) return false;
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    const Variant* known = find_variant(row.variant, backend, row.problem.direction);
    if (known && known->role == Role::baseline) return true;
  }
  return false;
}

void add(Collected& series, const store::SeriesOfRun& of, std::size_t run) {
  if (series.variant.empty()) {  // the same in all runs
    series.variant = to_string(of.kind.variant);
    series.executor = of.kind.executor;
    series.dense = is_dense(of.kind);
  }
  series.source_hash = of.source_hash;
  series.possible = series.possible || of.tried;
  for (const store::ProcessTimes& one : of.processes)
    series.processes.emplace(std::pair(run, one.process), one);
  if (of.failed_at.empty() || of.failed_at < series.failed_at) return;
  series.failure = of.failure;
  series.failed_at = of.failed_at;
}

/// Medians of the processes; the cycles only where every visit has them.
void fill(nightly::Night& night, const Collected& series, const std::string& build_id) {
  night.binary = series.source_hash;
  if (series.executor == kOwnExecutor) night.commit = commit_of_build(build_id);
  bool all_cycles = true;
  for (const auto& [key, process] : series.processes) {
    night.values.push_back(process.median_ns);
    all_cycles = all_cycles && process.cycles.has_value();
    if (all_cycles) night.cycles.push_back(*process.cycles);
  }
  if (!all_cycles) night.cycles.clear();
  if (night.values.empty()) night.failure = series.failure;
}

/// Names of series by their kind, each made once.
using NamesByKind = std::unordered_map<const Measurement*, std::string>;

std::map<std::string, Collected> collect(const store::Store& db, const NightOfRuns& night,
                                         NamesByKind& names) {
  std::unordered_map<const Measurement*, Collected> by_kind;
  for (std::size_t run = 0; run < night.runs.size(); ++run) {
    db.for_each_series(night.runs[run], night.device_uuid, [&](const store::SeriesOfRun& series) {
      add(by_kind[&series.kind], series, run);
    });
  }
  std::map<std::string, Collected> found;
  for (auto& [kind, collected] : by_kind) {
    std::string& name = names[kind];
    if (name.empty()) name = nightly_series_name(*kind);
    found[name] = std::move(collected);
  }
  return found;
}

/// Runs, the oldest first.
std::vector<Run> runs_in_order(const store::Store& db) {
  std::vector<Run> runs = db.runs();
  std::erase_if(runs, [](const Run& run) { return !is_of_history(run); });
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
  });
  return runs;
}

/// The series of one device, by name.
using SeriesByName = std::map<std::string, nightly::Series>;

/// A night of a device: `empty` has its index, day and environment.
void add_night(SeriesByName& all, const std::string& device, const nightly::Night& empty,
               const std::string& build_id, const std::map<std::string, Collected>& found) {
  for (const auto& [name, collected] : found) {
    if (!collected.possible && !all.contains(name)) continue;
    nightly::Series& series = all[name];
    series.name = name + " @ " + device;
    series.device = device;
    series.variant = collected.variant;
    series.canary = collected.dense;
  }
  for (auto& [name, series] : all) {
    const auto at = found.find(name);
    series.nights.push_back(empty);
    if (at != found.end()) fill(series.nights.back(), at->second, build_id);
  }
}

}  // namespace

std::string commit_of_build(const std::string& build_id) {
  const std::size_t plus = build_id.find('+');
  if (plus == std::string::npos) return "";
  const std::string revision = build_id.substr(plus + 1, build_id.find(' ', plus) - plus - 1);
  return revision == "unknown" ? "" : revision;
}

NightlyHistory read_nightly_database(const store::Store& db,
                                     const std::optional<std::string>& device_id) {
  NightlyHistory history;
  const std::vector<Run> runs = runs_in_order(db);
  const auto labels = db.labels();
  std::vector<std::string> days;
  for (const Run& run : runs) {
    if (days.empty() || days.back() != day_of(run)) days.push_back(day_of(run));
    const auto index = static_cast<std::int64_t>(days.size()) - 1;
    history.index_of_run[run.id] = index;
    if (const auto named = labels.find(run.id); named != labels.end()) {
      for (const std::string& label : named->second) history.index_of_label[label] = index;
    }
    if (run.state == RunState::open)
      history.notes.push_back("run " + run.id + " is open: it is measuring, or was killed");
  }
  NamesByKind names;
  for (const auto& [device, nights] : nights_by_device(runs, device_id, history.notes)) {
    SeriesByName series;
    for (const auto& [day, night] : nights) {
      const auto index = std::lower_bound(days.begin(), days.end(), day) - days.begin();
      nightly::Night empty;
      empty.index = index;
      empty.time = day;
      empty.environment = night.environment;
      add_night(series, device, empty, night.build_id, collect(db, night, names));
    }
    for (auto& [name, of_device] : series) history.series.push_back(std::move(of_device));
  }
  history.nights = static_cast<std::int64_t>(days.size());
  return history;
}

}  // namespace nsa::cli
