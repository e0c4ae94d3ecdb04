#include "nights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "noise.hpp"
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

std::vector<Change> changes_since(const Group& group, std::size_t run) {
  std::vector<Change> changes;
  for (const LengthPoint& point : group.points) {
    // Against the first variant that both saw, so that a pair is asked once.
    for (std::size_t u = 0; u < group.variants.size(); ++u) {
      bool shared = false;
      for (std::size_t v = u + 1; v < group.variants.size(); ++v) {
        const auto before = ratio_in(point, v, u, [=](std::size_t r) { return r == run; });
        const auto now = ratio_in(point, v, u, [=](std::size_t r) { return r < run; });
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

void drop_runs_from(Group& group, std::size_t first) {
  for (auto* points : {&group.points, &group.held_out}) {
    for (LengthPoint& point : *points) {
      std::erase_if(point.blocks, [=](const RoundTimes& block) { return block.run >= first; });
      std::erase_if(point.rows, [&](const Observation* row) {
        const auto at = std::ranges::find(group.runs, *row->run_id) - group.runs.begin();
        return static_cast<std::size_t>(at) >= first;
      });
      for (std::size_t v = 0; v < point.usable.size(); ++v) {
        point.usable[v] =
            point.usable[v] && std::ranges::any_of(point.blocks, [&](const RoundTimes& b) {
              return !std::isnan(b.arms[v]);
            });
      }
    }
    std::erase_if(*points, [](const LengthPoint& point) { return point.blocks.empty(); });
  }
  mark_unasked(group);
}

}  // namespace

void keep_agreeing_runs(Group& group, std::vector<std::string>& notes) {
  for (std::size_t run = 1; run < group.runs.size(); ++run) {
    if (agrees(changes_since(group, run))) continue;
    notes.push_back(fmt::format("{}: times have changed since run {}: {} older {} left out",
                                join_stages(group.stages), group.runs[run], group.runs.size() - run,
                                group.runs.size() - run == 1 ? "run" : "runs"));
    return drop_runs_from(group, run);
  }
}

}  // namespace nsa::tuner
