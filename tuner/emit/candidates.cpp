#include "settle.hpp"

#include <algorithm>
#include <set>

#include "compared.hpp"

namespace nsa::tuner {
namespace {

/// What a path is taken to lose at a problem where it has no time, having failed or been given up.
constexpr double kUnknownLoss = 9;

const PathRange* range_at(const std::vector<PathRange>& ranges, std::int64_t at) {
  const auto found = std::ranges::find_if(
      ranges, [&](const PathRange& range) { return range.from <= at && at < range.to; });
  return found == ranges.end() ? nullptr : &*found;
}

/// Axis values between which neither the decision nor the candidate changes.
std::set<std::int64_t> turning_points(const SettledStage& candidate, const ProblemClass& of) {
  std::set<std::int64_t> points;
  for (const PathRange& range : candidate.decided) points.insert({range.from, range.to - 1});
  const auto least = candidate.minimum.length();
  if (!least) return points;
  const auto first = first_reaching(*least, candidate.setting->compared, candidate.axis, of);
  if (first) points.insert({*first - 1, *first});
  return points;
}

bool is_exact(const SettledStage& candidate, const ProblemClass& of) {
  return std::ranges::all_of(turning_points(candidate, of), [&](std::int64_t at) {
    const PathRange* range = range_at(candidate.decided, at);
    return !range || range->path == candidate.path_at(at, of);
  });
}

double loss_of(const SettledStage& candidate, const std::vector<PathPoint>& points,
               const ProblemClass& of) {
  double sum = 0;
  std::size_t count = 0;
  for (const PathPoint& point : points) {
    const PathRange* range = range_at(candidate.decided, point.at);
    if (!range || !point.ns.contains(range->path)) continue;
    ++count;
    const auto runs = point.ns.find(candidate.path_at(point.at, of));
    sum += runs == point.ns.end() ? kUnknownLoss
                                  : std::max(0.0, runs->second / point.ns.at(range->path) - 1);
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// Minimums worth a try: always, and those at which the decision or the measurements turn.
std::vector<FlatValue> minimums(const SettledStage& candidate, const std::vector<PathPoint>& points,
                                const ProblemClass& of) {
  std::set<std::int64_t> lengths;
  const auto add = [&](std::int64_t at) {
    const auto length = compared_length(candidate.setting->compared, candidate.axis, at, of);
    if (length && *length > 1) lengths.insert(*length);
  };
  for (const PathRange& range : candidate.decided) add(range.from);
  for (const PathPoint& point : points) add(point.at);
  std::vector<FlatValue> values{FlatValue::always()};
  for (const std::int64_t length : lengths) values.push_back(FlatValue::from(length));
  return values;
}

bool better(const SettledStage& a, const SettledStage& b) {
  return a.exact != b.exact ? a.exact : a.loss < b.loss;
}

}  // namespace

SwitchTarget SettledStage::path_at(std::int64_t at, const ProblemClass& of) const {
  const auto least = minimum.length();
  if (!least) return setting->path;
  const auto length = compared_length(setting->compared, axis, at, of);
  return length && *length >= *least ? setting->path : setting->below;
}

std::vector<SettledStage> candidates(const ProjectStage& stage, const Decision& decision,
                                     const std::vector<PathRange>& ranges,
                                     const std::vector<PathPoint>& points, const ProblemClass& of) {
  std::set<SwitchTarget> measured;
  for (const PathPoint& point : points) {
    for (const auto& [path, ns] : point.ns) measured.insert(path);
  }
  std::vector<SettledStage> all;
  for (const ProjectSetting& setting : stage.settings) {
    if (!in_phase(setting.phases, of.phase) || !measured.contains(setting.path)) continue;
    SettledStage candidate{stage.stage, decision.axis, &setting, FlatValue::always(), true,
                           0,           ranges};
    std::vector<FlatValue> tries{FlatValue::always()};
    if (setting.compared != Compared::nothing && measured.contains(setting.below))
      tries = minimums(candidate, points, of);
    std::optional<SettledStage> best;
    for (const FlatValue& minimum : tries) {
      candidate.minimum = minimum;
      candidate.exact = is_exact(candidate, of);
      candidate.loss = candidate.exact ? 0 : loss_of(candidate, points, of);
      if (!best || better(candidate, *best)) best = candidate;
    }
    all.push_back(std::move(*best));
  }
  std::ranges::stable_sort(all, better);
  return all;
}

}  // namespace nsa::tuner
