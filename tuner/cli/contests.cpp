#include "contests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "nights_of_runs.hpp"
#include "nsa/page/slope.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::cli {
namespace {

using Round = std::pair<std::int64_t, std::int64_t>;  // process, round
using Times = std::map<Round, double>;                // ns

/// A variant at one length.
struct Place {
  Times times;
  Cost cost;
  std::optional<std::int64_t> workspace_bytes;
};
using AtLengths = std::map<std::int64_t, Place>;                // by axis value, tokens
using Variants = std::map<std::string, AtLengths>;              // by name
using Key = std::tuple<std::string, std::string, std::string>;  // stages, class, how measured

struct Contest {
  ProblemClass of;
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  bool cold = true;
  Variants variants;
};

bool is_comparable(const Measurement& row) {
  const auto& lengths = row.problem.seq_lens;
  const bool even =
      std::ranges::adjacent_find(lengths, std::ranges::not_equal_to{}) == lengths.end();
  return row.outcome == Outcome::ok && row.verification != Verification::wrong_result &&
         row.median_ns && *row.median_ns > 0 && !row.control && !row.held_out && even;
}

Key key_of(const Measurement& row) {
  const Problem& p = row.problem;
  std::string how = fmt::format("batch {}, {}", p.batch(), to_string(p.selection.pattern));
  if (p.selection.overlap) how += fmt::format(" {}", *p.selection.overlap);
  if (p.model.model_dim > 0) how += fmt::format(", width {}", p.model.model_dim);
  how += fmt::format(", {}, {}", to_string(row.launch), row.cold ? "cold" : "warm");
  return {fmt::format("{}", fmt::join(row.variant.stages, "+")), to_string(class_of(p)), how};
}

std::string name_of(const VariantId& variant, const std::string& executor) {
  return to_string(variant) + (executor == kOwnExecutor ? "" : " by " + executor);
}

/// Decisions of a decode step go by the cached tokens, others by the new ones.
Axis axis_of_phase(Phase phase) {
  return phase == Phase::decode ? Axis::context_len : Axis::seq_len;
}

std::map<Key, Contest> read_contests(const store::Store& db, const std::string& run,
                                     const std::string& device_uuid) {
  std::map<Key, Contest> found;
  db.for_each_measurement({.run_id = run, .device_uuid = device_uuid}, [&](const Measurement& row) {
    if (!is_comparable(row)) return;
    Contest& contest = found[key_of(row)];
    contest.of = class_of(row.problem);
    contest.stages = row.variant.stages;
    contest.axis = axis_of_phase(row.problem.phase);
    contest.cold = row.cold;
    const std::int64_t length = axis_value(row.problem, contest.axis);
    if (length < 1) return;
    Place& place = contest.variants[name_of(row.variant, row.executor)][length];
    place.times[{row.process, row.round}] = *row.median_ns;
    place.cost = row.cost;
    if (row.workspace_bytes)
      place.workspace_bytes = std::max(place.workspace_bytes.value_or(0), *row.workspace_bytes);
  });
  return found;
}

double median_of(const Times& times) {
  std::vector<double> values;
  for (const auto& [round, ns] : times) values.push_back(ns);
  return median(values);
}

/// The fastest variant at each length.
std::map<std::int64_t, const Times*> best_at(const Variants& variants) {
  std::map<std::int64_t, const Times*> best;
  for (const auto& [name, lengths] : variants) {
    for (const auto& [length, place] : lengths) {
      const Times*& there = best[length];
      if (!there || median_of(place.times) < median_of(*there)) there = &place.times;
    }
  }
  return best;
}

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

/// The highest rate that a variant reached: what the device can do, as far as it was seen.
struct Ceiling {
  double per_s = 0;
  std::string by;

  void raise(double amount, double ns, const std::string& who) {
    if (amount / ns * 1e9 <= per_s) return;
    per_s = amount / ns * 1e9;
    by = who;
  }
  Json json() const { return Json{rounded(per_s), by}; }
};

/// Matrix rates that `nsatune run` measured on a device, by dtype.
std::map<std::string, Ceiling> matrix_rates(const store::Store& db, const Device& device) {
  std::map<std::string, Ceiling> rates;
  for (const store::RunResult& result : db.run_results()) {
    const Json& r = result.report;
    if (r.value("/device/uuid"_json_pointer, "") != device.uuid || !r.contains("peak_flop_per_s"))
      continue;
    rates[r.value("/model/dtype"_json_pointer, "")].raise(
        r["peak_flop_per_s"].get<double>(), 1e9,
        fmt::format("{}, by nsatune run of {}", r.value("peak_name", "matrix rate"),
                    result.recorded_at.substr(0, 10)));
  }
  return rates;
}

/// FLOP/s of variants for problems of that dtype and of `matrices`, bytes/s of variants measured as
/// cold or warm.
Json ceilings_json(const std::map<Key, Contest>& contests, const Contest& of,
                   const std::map<std::string, Ceiling>& matrices) {
  Ceiling flop, bytes;
  if (const auto at = matrices.find(std::string(to_string(of.of.dtype))); at != matrices.end())
    flop = at->second;
  for (const auto& [key, contest] : contests) {
    for (const auto& [name, lengths] : contest.variants) {
      for (const auto& [length, place] : lengths) {
        const double ns = median_of(place.times);
        const std::string who = fmt::format("{} at {}", name, length);
        if (contest.of.dtype == of.of.dtype) flop.raise(place.cost.flop, ns, who);
        if (contest.cold == of.cold) bytes.raise(place.cost.bytes, ns, who);
      }
    }
  }
  return {{"flop_per_s", flop.json()}, {"bytes_per_s", bytes.json()}};
}

Json contest_json(const Key& key, const Contest& contest,
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
