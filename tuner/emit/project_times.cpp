#include "project_times.hpp"

#include <algorithm>

#include "decide/decision.hpp"
#include "settle.hpp"

namespace nsa::tuner {
namespace {

const ProjectPath* path_named(const ProjectStage& stage, std::string_view name) {
  const auto found = std::ranges::find(stage.paths, name, &ProjectPath::name);
  return found == stage.paths.end() ? nullptr : &*found;
}

/// Where its paths met. Where they did not, all points, which say whose times there are.
std::vector<PathTimesAt> measured_of(const ProjectStage& stage,
                                     const std::vector<PathPoint>& points) {
  std::vector<PathPoint> kept = met(points);
  if (kept.empty()) kept = points;
  std::vector<PathTimesAt> result;
  for (const PathPoint& point : kept) {
    PathTimesAt at{point.at, {}};
    for (const auto& [path, ns] : point.ns)
      at.ns[std::string(name_of(stage, path))] = std::llround(ns);
    result.push_back(std::move(at));
  }
  return result;
}

ProjectStageTimes stage_times(const Project& project, const ProjectStage& stage,
                              const ClassDecisions* decided, const std::vector<PathPoint>& points,
                              const ProblemClass& of, const std::vector<VariantTraits>& variants) {
  ProjectStageTimes result;
  result.stage = to_string(stage.stage);
  result.axis = axis_of(stage.stage, of.phase);
  if (const Decision* decision = decided ? eager_decision(*decided, stage.stage) : nullptr) {
    result.axis = decision->axis;
    result.ranges = decision->ranges;
  }
  const std::set<SwitchTarget> measured = paths_in(points);
  for (const auto& [path, order] : path_orders(project, stage.stage, result.axis, variants)) {
    if (measured.contains(path)) result.orders[std::string(name_of(stage, path))] = order;
  }
  result.measured = measured_of(stage, points);
  return result;
}

/// Traits that tell the declared order of each path by its name, and nothing else of its order.
std::vector<VariantTraits> with_orders(std::vector<VariantTraits> variants,
                                       const ProjectStage& stage,
                                       const std::map<std::string, double>& orders) {
  for (VariantTraits& one : variants) {
    if (one.id.stages == std::vector{std::string(to_string(stage.stage))}) one.order.reset();
  }
  for (const auto& [name, order] : orders) {
    const ProjectPath* path = path_named(stage, name);
    if (!path) continue;
    VariantTraits one;
    one.id = {{std::string(to_string(stage.stage))}, name, {}};
    one.path = path->path;
    one.order = WorkOrder{order, order};
    variants.push_back(std::move(one));
  }
  return variants;
}

Decision decision_of(const ProjectStageTimes& told) {
  Decision decision;
  decision.stages = {told.stage};
  decision.axis = told.axis;
  decision.ranges = told.ranges;
  return decision;
}

}  // namespace

void add_project_times(const DecideInput& input, ThresholdTable& table) {
  for (const Project& project : projects()) {
    const DecideInput own = only(project, input);
    const std::vector<ClassDecisions> decided =
        decide_ranges(where_paths_met(project, own)).table.classes;
    const ClassPathTimes all_times = path_times(project, own);
    for (ClassDecisions& of : table.classes) {
      const auto times = all_times.find(to_string(of.problem_class));
      if (times == all_times.end()) continue;
      const auto found =
          std::ranges::find(decided, of.problem_class, &ClassDecisions::problem_class);
      ProjectTimes result;
      result.project = project.name;
      for (const ProjectStage& stage : project.stages) {
        const auto points = times->second.find(stage.stage);
        if (points == times->second.end()) continue;
        result.stages.push_back(stage_times(project, stage,
                                            found == decided.end() ? nullptr : &*found,
                                            points->second, of.problem_class, own.variants));
      }
      of.projects.push_back(std::move(result));
    }
  }
}

CarriedTimes carried_times(const Project& project, const ClassDecisions& of,
                           const std::vector<VariantTraits>& variants) {
  CarriedTimes result;
  result.variants = variants;
  const auto told = std::ranges::find(of.projects, project.name, &ProjectTimes::project);
  if (told == of.projects.end()) return result;
  for (const ProjectStageTimes& one : told->stages) {
    const auto stage = std::ranges::find(project.stages, one.stage,
                                         [](const ProjectStage& s) { return to_string(s.stage); });
    if (stage == project.stages.end()) continue;  // of another version of the table
    result.variants = with_orders(std::move(result.variants), *stage, one.orders);
    if (!one.ranges.empty()) result.decisions.push_back(decision_of(one));
    for (const PathTimesAt& at : one.measured) {
      PathPoint point{at.at, {}, at.at, at.at};
      for (const auto& [name, ns] : at.ns) {
        const ProjectPath* path = path_named(*stage, name);
        if (path) point.ns[path->path] = static_cast<double>(std::max<std::int64_t>(ns, 1));
      }
      if (!point.ns.empty()) result.times[stage->stage].push_back(std::move(point));
    }
  }
  return result;
}

}  // namespace nsa::tuner
