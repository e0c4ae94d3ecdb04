#include "settle.hpp"

#include <algorithm>
#include <set>

namespace nsa::tuner {
namespace {

constexpr std::string_view kMinimum = "{min}";

std::string value_text(const Project& project, const ProjectVariable& variable,
                       const SettledStage& stage) {
  if (variable.value != kMinimum) return std::string(variable.value);
  const auto least = stage.minimum.length();
  return least ? std::to_string(*least) : std::string(project.always);
}

/// Puts the values of a stage to those that are there; false where one of them differs.
bool agrees(const Project& project, const SettledStage& stage, ProjectValues& values) {
  for (const ProjectVariable& variable : stage.setting->variables) {
    const std::string value = value_text(project, variable, stage);
    const auto [at, is_new] = values.try_emplace(std::string(variable.name), value);
    if (!is_new && at->second != value) return false;
  }
  return true;
}

/// One candidate of each stage, so that no two want different values of one variable, with the
/// fewest stages left out, then the least loss; of those with the same, the most exact ones.
class Search {
 public:
  Search(const Project& project, const std::vector<std::vector<SettledStage>>& stages)
      : project_(project), stages_(stages) {
    go(0, {}, {});
  }
  /// As many as there are stages; nullptr: it is left out.
  const std::vector<const SettledStage*>& best() const { return best_; }

 private:
  struct Cost {
    std::size_t left_out = 0;
    double loss = 0;
    std::size_t inexact = 0;
    auto operator<=>(const Cost&) const = default;
  };

  void go(std::size_t stage, const ProjectValues& values, const Cost& cost) {
    if (found_ && cost >= cost_) return;
    if (stage == stages_.size()) {
      found_ = true;
      cost_ = cost;
      best_ = chosen_;
      return;
    }
    for (const SettledStage& candidate : stages_[stage]) {
      ProjectValues with = values;
      if (!agrees(project_, candidate, with)) continue;
      take(&candidate, stage, with,
           {cost.left_out, cost.loss + candidate.loss, cost.inexact + (candidate.exact ? 0 : 1)});
    }
    take(nullptr, stage, values, {cost.left_out + 1, cost.loss, cost.inexact});
  }

  void take(const SettledStage* candidate, std::size_t stage, const ProjectValues& values,
            const Cost& cost) {
    chosen_.push_back(candidate);
    go(stage + 1, values, cost);
    chosen_.pop_back();
  }

  const Project& project_;
  const std::vector<std::vector<SettledStage>>& stages_;
  std::vector<const SettledStage*> chosen_, best_;
  Cost cost_;
  bool found_ = false;
};

/// Why a stage stays as it is although its paths met: nothing tells them apart at any length.
std::string why_undecided(const std::vector<PathRange>& ranges) {
  if (ranges.empty() || !std::ranges::all_of(ranges, &PathRange::undecided)) return "";
  const std::string& why = ranges.front().decided.evidence.why;
  return "undecided" + (why.empty() ? "" : ": " + why);
}

/// Why nothing can be said of a stage, or "".
std::string why_open(const Project& project, const ProjectStage& stage,
                     const std::vector<PathPoint>& points, const ProblemClass& of,
                     const Device& device) {
  const std::set<SwitchTarget> measured = paths_in(points);
  if (!met(points).empty()) return "";
  for (const ProjectPath& path : stage.paths) {
    const bool refused =
        in_phase(path.phases, of.phase) && !project.takes_all && !path.refuses(of, device).empty();
    if (refused) return std::string(path.refuses(of, device));
  }
  if (measured.empty()) return "no times of its paths";
  if (measured.size() > 1) return "no two of its paths have times of the same problem";
  return "times of " + std::string(name_of(stage, *measured.begin())) +
         " only, so that nothing is known against it";
}

/// The ranges, and the points that were measured, up to an axis value.
std::vector<PathRange> up_to(std::vector<PathRange> ranges, std::int64_t last) {
  std::erase_if(ranges, [&](const PathRange& range) { return range.from > last; });
  for (PathRange& range : ranges) range.to = std::min(range.to, last + 1);
  return ranges;
}
std::vector<PathPoint> up_to(std::vector<PathPoint> points, std::int64_t last) {
  std::erase_if(points, [&](const PathPoint& point) { return point.at > last; });
  return points;
}

bool measured_at_or_beyond(const std::vector<PathPoint>& points, std::int64_t last) {
  return std::ranges::any_of(
      points, [&](const PathPoint& point) { return std::max(point.at, point.last) >= last; });
}

/// The settings for lengths up to `last`; none where not even these are measured. What grows faster
/// than another path is one of them, since they have an end.
std::vector<SettledStage> candidates_up_to(std::int64_t last, const ProjectStage& stage,
                                           const Decision& decision,
                                           const std::vector<PathRange>& ranges,
                                           const std::vector<PathPoint>& points,
                                           const ProblemClass& of) {
  const std::vector<PathRange> shorter = up_to(ranges, last);
  if (!measured_at_or_beyond(points, last) || shorter.empty() || !why_undecided(shorter).empty())
    return {};
  Candidates found = candidates(stage, decision, shorter, up_to(points, last), {}, of);
  for (SettledStage& candidate : found.all) candidate.up_to = last;
  return std::move(found.all);
}

bool same_setting(const SettledStage& a, const SettledStage& b) {
  return a.setting == b.setting && a.minimum == b.minimum;
}

/// The settings of a stage by its decision.
Candidates decided_candidates(const Project& project, const ProjectStage& stage,
                              const Decision* decision, const std::vector<PathPoint>& points,
                              const ProblemClass& of, const Device& device,
                              const std::vector<VariantTraits>& variants,
                              const std::optional<Problem>& longest) {
  if (!decision) return {{}, "nothing is decided of its paths"};
  const std::vector<PathRange> ranges = path_ranges(project, *decision, of, variants);
  if (std::string reason = why_undecided(ranges); !reason.empty()) return {{}, std::move(reason)};
  Candidates found = candidates(stage, *decision, ranges, points,
                                path_orders(project, stage.stage, decision->axis, variants), of);
  if (longest && (found.all.empty() || !found.all.front().exact)) {
    auto shorter = candidates_up_to(axis_value(*longest, decision->axis), stage, *decision, ranges,
                                    points, of);
    const bool news = !shorter.empty() &&
                      (found.all.empty() || !same_setting(shorter.front(), found.all.front()));
    if (news) found.all = std::move(shorter);
  }
  // A path that was measured by somebody whom the project does not stop is no setting of it.
  const auto refuses = [&](SwitchTarget target) -> std::string_view {
    const auto path = std::ranges::find(stage.paths, target, &ProjectPath::path);
    const bool known = path != stage.paths.end() && !project.takes_all;
    return known ? path->refuses(of, device) : std::string_view();
  };
  for (const PathRange& range : ranges) {
    const std::string_view why = range.undecided() ? "" : refuses(range.path);
    if (!why.empty()) return {{}, std::string(why)};
  }
  std::erase_if(found.all, [&](const SettledStage& candidate) {
    return !refuses(candidate.setting->path).empty();
  });
  if (found.all.empty() && found.open.empty()) found.open = "its best path is no setting of it";
  return found;
}

}  // namespace

const Decision* eager_decision(const ClassDecisions& of, Stage stage) {
  for (const Decision& decision : of.decisions) {
    const bool single = decision.stages.size() == 1 && decision.launch == LaunchMode::eager;
    if (single && decision.stages.front() == to_string(stage)) return &decision;
  }
  return nullptr;
}

std::map<SwitchTarget, double> path_orders(const Project& project, Stage stage, Axis axis,
                                           const std::vector<VariantTraits>& variants) {
  std::map<SwitchTarget, double> orders;
  for (const VariantTraits& one : variants) {
    const bool of_stage = one.id.stages.size() == 1 && one.id.stages.front() == to_string(stage);
    if (!of_stage || !one.order || one.direction != Direction::forward) continue;
    const ProjectPath* path = path_of(project, one.id, one.path);
    if (!path) continue;
    const double order = axis == Axis::context_len ? one.order->context_len : one.order->seq_len;
    const auto at = orders.try_emplace(path->path, order).first;
    at->second = std::min(at->second, order);
  }
  return orders;
}

std::string_view name_of(const ProjectStage& stage, SwitchTarget path) {
  const auto found = std::ranges::find(stage.paths, path, &ProjectPath::path);
  return found == stage.paths.end() ? std::string_view() : found->name;
}

const SettledStage* Settlement::find(Stage stage) const {
  const auto found = std::ranges::find(stages, stage, &SettledStage::stage);
  return found == stages.end() ? nullptr : &*found;
}

Settlement settle(const Project& project, const ClassDecisions& decided,
                  const std::vector<VariantTraits>& variants, const PathTimes& times,
                  const Device& device, const Known& known, const std::optional<Problem>& longest) {
  Settlement result;
  const ProblemClass& of = decided.problem_class;
  std::vector<std::vector<SettledStage>> open_to;
  for (const ProjectStage& stage : project.stages) {
    const bool in_this_phase = std::ranges::any_of(
        stage.paths, [&](const ProjectPath& path) { return in_phase(path.phases, of.phase); });
    if (!in_this_phase) continue;
    const auto points = times.find(stage.stage);
    const Decision* decision = eager_decision(decided, stage.stage);
    const std::vector<PathPoint> none;
    const auto& measured = points != times.end() ? points->second : none;
    std::string reason = why_open(project, stage, measured, of, device);
    const auto by_decision = [&] {
      return decided_candidates(project, stage, decision, met(measured), of, device, variants,
                                longest);
    };
    Candidates found;
    if (const auto at = known.find(stage.stage); at != known.end()) {
      found = at->second;
      if (found.all.empty() && reason.empty()) {
        reason = found.open;
        // What is known is for all lengths; of shorter ones the decision may tell more.
        Candidates shorter = by_decision();
        if (!shorter.all.empty() && shorter.all.front().up_to) found = std::move(shorter);
      }
    } else if (reason.empty()) {
      found = by_decision();
      reason = found.open;
    }
    if (found.all.empty())
      result.open.push_back({stage.stage, reason});
    else
      open_to.push_back(std::move(found.all));
  }
  const Search search(project, open_to);
  for (std::size_t i = 0; i < open_to.size(); ++i) {
    const SettledStage* stage = search.best().at(i);
    if (!stage) {
      result.open.push_back(
          {open_to[i].front().stage, "its settings do not go with those of the other stages"});
      continue;
    }
    agrees(project, *stage, result.values);
    result.stages.push_back(*stage);
  }
  if (project.complete) result.notes = project.complete(result.values, of.phase, device);
  return result;
}

}  // namespace nsa::tuner
