#include "ladder_sweep.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "files/database_wait.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/grids.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {
namespace {

/// What the steps of the ladder switch. Attention as a whole is measured beside them.
constexpr std::array kStages{Stage::ranges, Stage::attend_compressed, Stage::attend_selected,
                             Stage::attend_window, Stage::gate_combine};

/// Times of the visits of a row, by process.
using Visits = std::map<std::int64_t, std::vector<double>>;

/// The rows of one length.
struct Length {
  std::map<Stage, Problem> problems;
  std::map<std::pair<Stage, std::string>, Visits> rows;  // by variant with its point
};

bool is_ladder(const Run& run) {
  const Json spec = Json::parse(run.spec_json, nullptr, false);
  return spec.is_object() && spec.contains("name") && spec["name"] == "ladder";
}

Run find_ladder(const store::Store& db, const std::string& path, const std::string& asked) {
  if (asked != "newest") {
    const auto run = db.find_run(asked);
    if (run && is_ladder(*run)) return *run;
    throw InputError(
        fmt::format("--sweep {}: {} has no such run of the preset ladder; nsatune db "
                    "info lists them",
                    asked, path));
  }
  for (const Run& run : db.runs()) {  // the newest first
    if (is_ladder(run)) return run;
  }
  throw InputError(path + ": holds no sweep of the preset ladder; run nsatune sweep ladder");
}

std::map<std::int64_t, Length> lengths_of(const store::Store& db, const Run& run,
                                          const Device& device) {
  std::map<std::int64_t, Length> lengths;
  const store::Query query{.run_id = run.id, .device_uuid = device.uuid};
  db.for_each_measurement(query, [&](const Measurement& row) {
    if (row.outcome != Outcome::ok || row.verification == Verification::wrong_result ||
        !row.median_ns || row.control || row.held_out || row.variant.stages.size() != 1)
      return;
    const auto stage = from_string<Stage>(row.variant.stages.front());
    if (!stage || std::ranges::find(kStages, *stage) == kStages.end()) return;
    Length& length = lengths[row.problem.max_seq_len()];
    length.problems.emplace(*stage, row.problem);
    length.rows[{*stage, to_string(row.variant)}][row.process].push_back(*row.median_ns);
  });
  return lengths;
}

Router router_of(const run_tables::Asked& asked, const Device& device) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : asked.variables) entries.push_back(name + "=" + value);
  Router::Inputs inputs;
  inputs.device = device;
  inputs.environment = snapshot_environment(entries);
  inputs.review = true;
  const bool tuned = asked.flags.empty();
  if (const auto shipped = tuned ? shipped_thresholds(device) : std::nullopt) {
    inputs.shipped = shipped->table;
    inputs.shipped_path = shipped->path;
  }
  return Router(std::move(inputs));
}

/// What runs for the stages, and the sum of its times in each process.
void fill(run_tables::Cell& cell, const Length& length, const Router& router) {
  std::vector<const Visits*> chosen;
  for (const auto& [stage, problem] : length.problems) {
    const Choice choice = router.choose(stage, problem);
    if (!choice.variant) continue;
    if (stage == Stage::ranges) {
      const Choice reader = router.choose(Stage::attend_selected, problem);
      if (reader.variant && !reads(*reader.variant, "ranges")) continue;
    }
    const VariantId id{
        {std::string(to_string(stage))}, std::string(choice.variant->name), *choice.point};
    const auto row = length.rows.find({stage, to_string(id)});
    if (row == length.rows.end()) {
      cell.reason = to_string(id) + ", which runs then, has no time in the sweep";
      return;
    }
    cell.ran.push_back({std::string(to_string(stage)), std::string(choice.variant->name)});
    chosen.push_back(&row->second);
  }
  std::map<std::int64_t, double> sums;
  if (!chosen.empty()) {
    for (const auto& [process, times] : *chosen.front()) sums[process] = 0;
  }
  for (const Visits* visits : chosen) {
    std::erase_if(sums, [&](const auto& sum) { return !visits->contains(sum.first); });
    for (auto& [process, sum] : sums) sum += median(visits->at(process));
  }
  for (const auto& [process, sum] : sums) cell.process_ns.emplace_back(sum);
  cell.status = sums.empty() ? run_tables::Status::not_measured : run_tables::Status::ok;
}

}  // namespace

LadderOfSweep ladder_of_sweep(const Settings& settings, const std::string& asked) {
  const auto db = existing_database(settings);
  const Run run = find_ladder(db, settings.db_path(), asked);
  LadderOfSweep ladder;
  for (const Device& device : run.devices) {
    const auto lengths = lengths_of(db, run, device);
    if (lengths.empty()) continue;
    ladder.about = fmt::format(
        "sweep {:.8} of {:.10} on {} ({}), cold caches\n  sums of the stages that the "
        "ladder switches, forward only: no projections, no scores\n",
        run.id, run.started_at, reports::printable(device.name), device.id);
    for (const auto& [seq_len, length] : lengths) {
      for (const run_tables::Asked& step : run_tables::ladder_grid({seq_len}, 1)) {
        run_tables::Cell cell;
        cell.asked = step;
        cell.tokens_per_step = seq_len;
        fill(cell, length, router_of(step, device));
        ladder.cells.push_back(std::move(cell));
      }
    }
    return ladder;
  }
  throw InputError(
      fmt::format("{}: run {:.8} has no rows of the ladder's stages; run nsatune sweep "
                  "ladder again",
                  settings.db_path(), run.id));
}

}  // namespace nsa::cli
