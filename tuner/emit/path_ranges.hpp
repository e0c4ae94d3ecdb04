// Decisions and measurements by the paths of a project.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/project.hpp"

namespace nsa::tuner {

/// The input that is left of `input` when only the project could have been measured: rows and
/// variants that are, or stand in for, paths that it can take.
DecideInput only(const Project& project, const DecideInput& input);

/// Half-open range of a decision in which one path is chosen.
struct PathRange {
  std::int64_t from = 0, to = 0;
  SwitchTarget path = SwitchTarget::none;
  ThresholdRange decided;  // the first range of those that were joined

  /// Nothing tells the paths apart there: `path` is what was there.
  bool undecided() const { return decided.basis == Basis::undecided; }
};
/// The ranges of a decision, neighbours of one path joined unless one of them is undecided; those
/// of other variants are left out.
std::vector<PathRange> path_ranges(const Project& project, const Decision& decision,
                                   const ProblemClass& of,
                                   const std::vector<VariantTraits>& variants);

/// The fastest time of each path at one problem that was measured, in ns; or ratios of times at
/// several, as a file tells them.
struct PathPoint {
  std::int64_t at = 0;  // on the axis of the decision
  std::map<SwitchTarget, double> ns;
  std::int64_t first = 0, last = 0;  // that were measured; 0: a file does not say it
  std::int64_t problems = 1;
};
using PathTimes = std::map<Stage, std::vector<PathPoint>>;

/// Times by class, which stands there in words.
using ClassPathTimes = std::map<std::string, PathTimes>;

/// Times out of the rows of `input`, which only() made, in whole nanoseconds: so that those that a
/// file carries are the same.
ClassPathTimes path_times(const Project& project, const DecideInput& input);
/// Those of one class.
PathTimes path_times(const Project& project, const DecideInput& input, const ProblemClass& of);

/// All paths that have times.
std::set<SwitchTarget> paths_in(const std::vector<PathPoint>& points);
/// Those at which two paths or more have times: elsewhere nothing was compared.
std::vector<PathPoint> met(const std::vector<PathPoint>& points);
/// The rows of problems of one stage at which two paths of the project have times. What wins alone
/// wins against nobody: the others were left out there against rows that the project has not got.
DecideInput where_paths_met(const Project& project, const DecideInput& input);

/// A decision as a file tells it: where the project has not got the winner, it is the runner-up if
/// the project has that, else nothing is known. `times` gets a point for each range that rests on
/// measurements, with the ratio.
ClassDecisions as_far_as_told(const Project& project, const ClassDecisions& of,
                              const Device& device, const std::vector<VariantTraits>& variants,
                              PathTimes& times);

bool in_phase(unsigned phases, Phase phase);
/// Whether the project can take a path for problems of a class.
bool can_take(const Project& project, const ProjectPath& path, const ProblemClass& of,
              const Device& device);

/// What the switches call a variant.
SwitchTarget named_path(const VariantId& id, const std::vector<VariantTraits>& variants);

}  // namespace nsa::tuner
