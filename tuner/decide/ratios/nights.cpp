#include "nights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <map>
#include <set>

#include "noise.hpp"
#include "nsa/schemas/median.hpp"
#include "statistics.hpp"
#include "unasked.hpp"

namespace nsa::tuner {
namespace {

/// Share of nights without a change that are taken for a change.
constexpr double kFalseAlarms = 0.01;

/// Ratios of v to u by process, of blocks whose run `wanted` accepts.
template <class Wanted>
std::optional<Ratio> ratio_in(const LengthPoint& point, std::size_t v, std::size_t u,
                              const Wanted& wanted) {
  ByProcess found(point.blocks.size());  // as many processes at most
  for (const RoundTimes& block : point.blocks) {
    const double ratio = block.arms[v] - block.arms[u];
    if (wanted(block.run) && !std::isnan(ratio)) found[block.process].push_back(ratio);
  }
  return ratio_of(found);
}

/// One variant against another on one problem, before and now.
struct Change {
  std::size_t variant = 0;
  Ratio before, now;
};

/// Since that run, on its board: another board may be another machine.
std::vector<Change> changes_since(const Group& group, std::size_t run) {
  const auto is_newer = [&](std::size_t r) {
    return r < run && group.boards[r] == group.boards[run];
  };
  std::vector<Change> changes;
  for (const LengthPoint& point : group.points) {
    // Against the first variant that both saw, so that a pair is asked once.
    for (std::size_t u = 0; u < group.variants.size(); ++u) {
      bool shared = false;
      for (std::size_t v = u + 1; v < group.variants.size(); ++v) {
        const auto before = ratio_in(point, v, u, [=](std::size_t r) { return r == run; });
        const auto now = ratio_in(point, v, u, is_newer);
        if (!before || !now) continue;
        changes.push_back({v, *before, *now});
        shared = true;
      }
      if (shared) break;
    }
  }
  return changes;
}

/// What some changes come to, and how far they may be from nothing by noise alone.
struct Shift {
  double sum = 0, variance = 0, freedom = 0;
  void add(const Change& change, const PooledNoise& pooled) {
    const Spread before = spread_of(change.before, pooled), now = spread_of(change.now, pooled);
    sum += value_of(change.now, pooled) - value_of(change.before, pooled);
    variance += before.variance + now.variance;
    freedom += std::min(before.freedom, now.freedom);
  }
  bool is_noise(double tail) const {
    return std::abs(sum) <= student_quantile(tail, freedom) * std::sqrt(variance) + 1e-12;
  }
};

/// A change at one problem stands out there; one of all problems, in their sum for its variant.
bool agrees(const std::vector<Change>& changes) {
  if (changes.empty()) return true;
  std::vector<Ratio> all;
  for (const Change& change : changes) {
    all.push_back(change.before);
    all.push_back(change.now);
  }
  const PooledNoise pooled = pool_noise(all, {});
  std::vector<Shift> shifts;
  std::map<std::size_t, Shift> of_variants;
  for (const Change& change : changes) {
    shifts.emplace_back().add(change, pooled);
    of_variants[change.variant].add(change, pooled);
  }
  for (const auto& [variant, shift] : of_variants) shifts.push_back(shift);
  const double tail = kFalseAlarms / (2 * static_cast<double>(shifts.size()));
  return std::ranges::all_of(shifts, [=](const Shift& shift) { return shift.is_noise(tail); });
}

std::size_t run_of(const Group& group, const Observation& row) {
  return static_cast<std::size_t>(std::ranges::find(group.runs, *row.run_id) - group.runs.begin());
}

/// Takes what runs that `unwanted` names have at a point out of it.
template <class Unwanted>
void drop_runs(const Group& group, LengthPoint& point, const Unwanted& unwanted) {
  std::erase_if(point.blocks, [&](const RoundTimes& block) { return unwanted(block.run); });
  std::erase_if(point.rows, [&](const Observation* row) { return unwanted(run_of(group, *row)); });
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    point.usable[v] = point.usable[v] && std::ranges::any_of(point.blocks, [&](const auto& block) {
                        return !std::isnan(block.arms[v]);
                      });
  }
}

/// That run and those of its board that are older. Returns how many.
std::size_t drop_runs_from(Group& group, std::size_t first) {
  const auto is_older = [&](std::size_t run) {
    return run >= first && group.boards[run] == group.boards[first];
  };
  for (auto* points : {&group.points, &group.held_out}) {
    for (LengthPoint& point : *points) drop_runs(group, point, is_older);
    std::erase_if(*points, [](const LengthPoint& point) { return point.blocks.empty(); });
  }
  mark_unasked(group);
  std::size_t dropped = 0;
  for (std::size_t run = first; run < group.runs.size(); ++run) dropped += is_older(run);
  return dropped;
}

/// Variance of a ratio of a run by the scatter of its rounds, the median of all, and how well it is
/// known. How processes differ is known too badly to compare runs by it.
struct Loudness {
  double variance = 0;
  double freedom = 0;  // 0: not known
};

Loudness loudness_of(const Group& group, std::size_t run) {
  const auto of_run = [=](std::size_t r) { return r == run; };
  std::vector<double> variances;
  double freedom = 0;
  for (const LengthPoint& point : group.points) {
    for (std::size_t v = 1; v < group.variants.size(); ++v) {
      const auto ratio = ratio_in(point, v, 0, of_run);
      if (!ratio || ratio->within_freedom == 0 || std::abs(ratio->value) > kOutOfReach) continue;
      variances.push_back(ratio->within / static_cast<double>(ratio->rounds));
      freedom += static_cast<double>(ratio->within_freedom);
    }
  }
  if (variances.empty()) return {};
  return {median(std::move(variances)), freedom};
}

/// Whether the first is worth little beside the second, and not by chance.
bool is_louder(const Loudness& a, const Loudness& b) {
  // Rounds count alike, so that what is worth a tenth would still have half of the say.
  constexpr double kWorthLittle = 9;
  if (a.freedom == 0 || b.freedom == 0 || a.variance <= kWorthLittle * b.variance) return false;
  constexpr double kByChance = 1e-3, kOfAMedian = 0.6;  // of the freedom of a mean
  const boost::math::fisher_f chance(std::max(1.0, kOfAMedian * a.freedom),
                                     std::max(1.0, kOfAMedian * b.freedom));
  return a.variance > b.variance * boost::math::quantile(complement(chance, kByChance));
}

/// Of each run, the runs of its board beside which it is worth little.
std::vector<std::vector<std::size_t>> quieter_runs(const Group& group) {
  std::vector<Loudness> loudness;
  for (std::size_t run = 0; run < group.runs.size(); ++run)
    loudness.push_back(loudness_of(group, run));
  std::vector<std::vector<std::size_t>> quieter(loudness.size());
  for (std::size_t run = 0; run < loudness.size(); ++run) {
    for (std::size_t other = 0; other < loudness.size(); ++other) {
      if (group.boards[run] == group.boards[other] && is_louder(loudness[run], loudness[other]))
        quieter[run].push_back(other);
    }
  }
  return quieter;
}

bool has_all_of(const LengthPoint& point, std::size_t run, std::size_t other) {
  const auto timed = [&](std::size_t r, std::size_t v) {
    return std::ranges::any_of(point.blocks, [=](const RoundTimes& block) {
      return block.run == r && !std::isnan(block.arms[v]);
    });
  };
  bool some = false;
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    if (timed(other, v) && !timed(run, v)) return false;
    some = some || timed(run, v);
  }
  return some;
}

}  // namespace

void keep_precise_runs(Group& group, std::vector<std::string>& notes) {
  const std::vector<std::vector<std::size_t>> quieter = quieter_runs(group);
  std::set<std::size_t> dropped;
  for (auto* points : {&group.points, &group.held_out}) {
    for (LengthPoint& point : *points) {
      std::vector<bool> unwanted(group.runs.size(), false);
      for (std::size_t run = 0; run < unwanted.size(); ++run) {
        unwanted[run] = std::ranges::any_of(
            quieter[run], [&](std::size_t other) { return has_all_of(point, other, run); });
        if (unwanted[run]) dropped.insert(run);
      }
      drop_runs(group, point, [&](std::size_t run) { return unwanted[run]; });
    }
  }
  for (const std::size_t run : dropped)
    notes.push_back(
        fmt::format("{}: run {} is left out where other runs measured the same: its "
                    "ratios are many times as noisy as theirs",
                    join_stages(group.stages), group.runs[run]));
}

void keep_agreeing_runs(Group& group, std::vector<std::string>& notes) {
  std::set<std::string> settled;  // boards whose older runs are left out
  for (std::size_t run = 1; run < group.runs.size(); ++run) {
    if (settled.contains(group.boards[run]) || agrees(changes_since(group, run))) continue;
    const std::string& since = group.runs[run];
    const std::size_t older = drop_runs_from(group, run);
    settled.insert(group.boards[run]);
    notes.push_back(fmt::format("{}: times have changed since run {}: {} older {} left out",
                                join_stages(group.stages), since, older,
                                older == 1 ? "run" : "runs"));
  }
}

}  // namespace nsa::tuner
