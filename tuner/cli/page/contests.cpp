#include "contests.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "ceilings.hpp"
#include "contest_rows.hpp"
#include "history/nights_of_runs.hpp"
#include "nsa/page/slope.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::cli {
namespace {

Json rounded(double value) { return Json::parse(fmt::format("{:.5g}", value)); }

/// {ratio, low, high}; null for an interval of fewer than two rounds.
std::vector<Json> ratio_json(const Times& times, const Times& best) {
  constexpr int kReplicates = 200;
  constexpr std::uint64_t kSeed = 1;
  std::vector<double> ratios;
  std::vector<std::int64_t> blocks;
  for (const auto& [round, ns] : times) {
    const auto other = best.find(round);
    if (other == best.end()) continue;
    blocks.push_back(static_cast<std::int64_t>(blocks.size()));
    ratios.push_back(std::log(ns / other->second));
  }
  if (ratios.size() < 2) return {rounded(median_of(times) / median_of(best)), nullptr, nullptr};
  const tuner::PairedRatio r = tuner::paired_ratio(ratios, blocks, 0.95, kReplicates, kSeed);
  std::vector<Json> list;
  for (const double log_ratio : {r.median, r.low, r.high})
    list.push_back(std::isfinite(log_ratio) ? rounded(std::exp(log_ratio)) : Json());
  return list;
}

/// [length, median_ns, ratio, low, high, flop, bytes, workspace_bytes]
Json cell(std::int64_t length, const Place& place, const Times& best) {
  Json json{length, rounded(median_of(place.times))};
  for (Json& one : ratio_json(place.times, best)) json.push_back(std::move(one));
  json.push_back(rounded(place.cost.flop));
  json.push_back(rounded(place.cost.bytes));
  json.push_back(place.workspace_bytes ? Json(*place.workspace_bytes) : Json());
  return json;
}

Json slope_json(const AtLengths& lengths) {
  std::vector<std::pair<double, double>> points;
  for (const auto& [length, place] : lengths)
    points.emplace_back(static_cast<double>(length), median_of(place.times));
  const auto slope = page::log_log_slope(points);
  return slope ? Json{slope->slope, slope->low, slope->high, slope->log_intercept} : Json();
}

/// [from, to, variant] of the decision of that class and those stages; null: without an end.
Json ranges_json(const Contest& contest, const std::optional<ThresholdTable>& table) {
  Json list = Json::array();
  if (!table) return list;
  for (const ClassDecisions& of : table->classes) {
    if (of.problem_class != contest.of) continue;
    for (const Decision& decision : of.decisions) {
      if (decision.stages != contest.stages) continue;
      for (const ThresholdRange& range : decision.ranges) {
        if (range.basis == Basis::undecided) continue;
        list.push_back({range.from, range.to ? Json(*range.to) : Json(),
                        name_of(range.variant, table->executor)});
      }
    }
  }
  return list;
}

Json contest_json(const ContestKey& key, const Contest& contest,
                  const std::optional<ThresholdTable>& table) {
  const auto best = best_at(contest.variants);
  Json lengths = Json::array(), variants = Json::array();
  for (const auto& [length, times] : best) lengths.push_back(length);
  for (const auto& [name, at] : contest.variants) {
    Json cells = Json::array();
    for (const auto& [length, place] : at) cells.push_back(cell(length, place, *best.at(length)));
    variants.push_back({{"name", name}, {"slope", slope_json(at)}, {"cells", std::move(cells)}});
  }
  return {{"stages", std::get<0>(key)},
          {"class", std::get<1>(key)},
          {"how", std::get<2>(key)},
          {"axis", to_string(contest.axis)},
          {"lengths", std::move(lengths)},
          {"variants", std::move(variants)},
          {"ranges", ranges_json(contest, table)}};
}

}  // namespace

Json contests_json(const store::Store& db, const std::optional<std::string>& device_id,
                   const std::optional<ThresholdTable>& table) {
  Json list = Json::array();
  std::set<std::string> seen;
  for (const Run& run : db.runs()) {  // the newest first
    if (!is_of_history(run)) continue;
    for (const Device& device : run.devices) {
      if ((device_id && device.id != *device_id) || seen.contains(device.uuid)) continue;
      const auto contests = read_contests(db, run.id, device.uuid);
      if (!contests.empty()) seen.insert(device.uuid);
      const auto matrices = matrix_rates(db, device);
      const bool decided = table && table->device.name == device.name;
      for (const auto& [key, contest] : contests) {
        if (best_at(contest.variants).size() < 2) continue;
        Json json = contest_json(key, contest, decided ? table : std::nullopt);
        json.update({{"device", device.name},
                     {"run", run.id},
                     {"day", run.started_at.substr(0, 10)},
                     {"ceilings", ceilings_json(contests, contest, matrices)}});
        list.push_back(std::move(json));
      }
    }
  }
  return list;
}

}  // namespace nsa::cli
