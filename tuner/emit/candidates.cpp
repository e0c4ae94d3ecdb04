#include "settle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "compared.hpp"

namespace nsa::tuner {
namespace {

/// A setting that may lose more than this where its paths met is not taken for what they are
/// expected to do beyond: the doubt that decisions allow, too.
constexpr double kMostLoss = 0.05;

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

/// Whether it runs the path of each range, of those that are undecided or of the others.
bool agrees(const SettledStage& candidate, bool undecided, const ProblemClass& of) {
  return std::ranges::all_of(turning_points(candidate, of), [&](std::int64_t at) {
    const PathRange* range = range_at(candidate.decided, at);
    return !range || range->undecided() != undecided || range->path == candidate.path_at(at, of);
  });
}

/// As a share of time, mean over the problems at which the decided path has a time; nothing where
/// the candidate has none at one of them, having failed or been left out. What is undecided says of
/// no path what it loses.
std::optional<double> loss_of(const SettledStage& candidate, const std::vector<PathPoint>& points,
                              const ProblemClass& of) {
  double sum = 0;
  double count = 0;
  for (const PathPoint& point : points) {
    const PathRange* range = range_at(candidate.decided, point.at);
    if (!range || range->undecided() || !point.ns.contains(range->path)) continue;
    const auto runs = point.ns.find(candidate.path_at(point.at, of));
    if (runs == point.ns.end()) return std::nullopt;
    const auto problems = static_cast<double>(point.problems);
    count += problems;
    sum += problems * std::max(0.0, runs->second / point.ns.at(range->path) - 1);
  }
  return count > 0 ? sum / count : 0;
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
  return std::tuple(!a.exact, a.loss, !a.keeps) < std::tuple(!b.exact, b.loss, !b.keeps);
}

/// A point that a file tells may stand for several problems.
std::int64_t longest_of(const PathPoint& point) { return std::max(point.at, point.last); }

std::int64_t longest_of(const std::vector<PathPoint>& points) {
  std::int64_t longest = 0;
  for (const PathPoint& point : points) longest = std::max(longest, longest_of(point));
  return longest;
}

/// A path of `measured` whose work grows by a lower order than that of the path which runs beyond
/// all lengths.
std::optional<SwitchTarget> overtaking(const SettledStage& candidate,
                                       const std::set<SwitchTarget>& measured,
                                       const std::map<SwitchTarget, double>& orders,
                                       const ProblemClass& of) {
  const auto own = orders.find(candidate.path_at(last_on(candidate.axis, of), of));
  if (own == orders.end()) return std::nullopt;
  for (const SwitchTarget path : measured) {
    const auto other = orders.find(path);
    if (other != orders.end() && other->second < own->second) return path;
  }
  return std::nullopt;
}

/// The candidate for one setting, with the minimum that loses least.
std::optional<SettledStage> best_of(SettledStage candidate, const std::vector<FlatValue>& tries,
                                    const std::vector<PathPoint>& points, const ProblemClass& of) {
  std::optional<SettledStage> best;
  for (const FlatValue& minimum : tries) {
    candidate.minimum = minimum;
    candidate.exact = agrees(candidate, false, of);
    candidate.keeps = agrees(candidate, true, of);
    const auto loss = candidate.exact ? std::optional(0.0) : loss_of(candidate, points, of);
    if (!loss) continue;
    candidate.loss = *loss;
    if (!best || better(candidate, *best)) best = candidate;
  }
  return best;
}

/// Leaves those that no longer length will overtake; none, with the reason, where they lose too
/// much for that.
void end_with_the_lowest_order(const ProjectStage& stage, const std::vector<PathPoint>& points,
                               const std::set<SwitchTarget>& measured,
                               const std::map<SwitchTarget, double>& orders, const ProblemClass& of,
                               Candidates& found) {
  const std::int64_t longest = longest_of(points);
  if (found.all.empty() || longest >= last_on(found.all.front().axis, of)) return;
  const SettledStage best = found.all.front();
  const auto rival = overtaking(best, measured, orders, of);
  std::erase_if(found.all, [&](const SettledStage& candidate) {
    return overtaking(candidate, measured, orders, of).has_value();
  });
  if (!rival || (!found.all.empty() && found.all.front().loss <= kMostLoss)) return;
  found.all.clear();
  found.open = fmt::format(
      "{} is best up to {} {}, the longest at which two of its paths were measured; beyond, its "
      "work grows faster than that of {}, and a switch has no end; to write it for lengths up to "
      "that, give yours by --seq-len, --context-len or --config",
      name_of(stage, best.setting->path), to_string(best.axis), longest, name_of(stage, *rival));
}

}  // namespace

SwitchTarget SettledStage::path_at(std::int64_t at, const ProblemClass& of) const {
  const auto least = minimum.length();
  if (!least) return setting->path;
  const auto length = compared_length(setting->compared, axis, at, of);
  return length && *length >= *least ? setting->path : setting->below;
}

Candidates candidates(const ProjectStage& stage, const Decision& decision,
                      const std::vector<PathRange>& ranges, const std::vector<PathPoint>& points,
                      const std::map<SwitchTarget, double>& orders, const ProblemClass& of) {
  const std::set<SwitchTarget> measured = paths_in(points);
  Candidates found;
  for (const ProjectSetting& setting : stage.settings) {
    if (!in_phase(setting.phases, of.phase) || !measured.contains(setting.path)) continue;
    SettledStage candidate{
        .stage = stage.stage, .axis = decision.axis, .setting = &setting, .decided = ranges};
    std::vector<FlatValue> tries{FlatValue::always()};
    if (setting.compared != Compared::nothing && measured.contains(setting.below))
      tries = minimums(candidate, points, of);
    if (auto best = best_of(std::move(candidate), tries, points, of))
      found.all.push_back(std::move(*best));
  }
  std::ranges::stable_sort(found.all, better);
  if (found.all.empty()) found.open = "no setting has times wherever its paths were compared";
  end_with_the_lowest_order(stage, points, measured, orders, of, found);
  return found;
}

}  // namespace nsa::tuner
