// From a decision by length to what a project can be set to.
#pragma once

#include "nsa/tuner/project.hpp"
#include "path_ranges.hpp"
#include "settle.hpp"

namespace nsa::tuner {

/// What one stage is set to.
struct SettledStage {
  Stage stage = Stage::attend_selected;
  Axis axis = Axis::seq_len;
  const ProjectSetting* setting = nullptr;
  FlatValue minimum = FlatValue::always();  // in what the setting compares
  bool exact = true;  // runs what was decided, at every length that was decided
  double loss = 0;    // against the decision, as a share of time, mean over measured problems
  std::vector<PathRange> decided;
  bool keeps = true;       // runs what was there, at every length that is undecided
  bool loss_known = true;  // false: it is not exact, and nothing says what that loses
  std::string told = {};   // where it comes from, if not from `decided`
  std::optional<std::int64_t> up_to = {};  // the axis value that it is for at most; none: no end

  /// What runs where the axis has that value, for problems of `of`.
  SwitchTarget path_at(std::int64_t at, const ProblemClass& of) const;
};

/// A stage that stays as it is, and why.
struct OpenStage {
  Stage stage = Stage::attend_selected;
  std::string reason;
};

struct Settlement {
  std::vector<SettledStage> stages;
  std::vector<OpenStage> open;
  ProjectValues values;
  std::vector<std::string> notes;  // a line for each value that no decision asked for

  const SettledStage* find(Stage stage) const;
};

/// What the project calls a path of a stage; "" where it has not got it.
std::string_view name_of(const ProjectStage& stage, SwitchTarget path);

/// What a class decides of one stage alone, in eager launches, or nullptr.
const Decision* eager_decision(const ClassDecisions& of, Stage stage);

/// The least declared order of each path of a stage in an axis.
std::map<SwitchTarget, double> path_orders(const Project& project, Stage stage, Axis axis,
                                           const std::vector<VariantTraits>& variants);

/// The settings that a stage may get, with their best minimums, exact ones before others, then by
/// loss, then those that keep what is undecided. None: `open` says why.
struct Candidates {
  std::vector<SettledStage> all;
  std::string open;
};
/// `orders`: how the work of each path grows in the axis, as far as it is declared. A setting has
/// no end, so that a path of a higher order than another one that it met is no candidate unless
/// there are no longer lengths; where all others are surely slower, the stage stays open.
Candidates candidates(const ProjectStage& stage, const Decision& decision,
                      const std::vector<PathRange>& ranges, const std::vector<PathPoint>& points,
                      const std::map<SwitchTarget, double>& orders, const ProblemClass& of);

/// What stages are to be set to, or why they stay as they are, known from elsewhere.
using Known = std::map<Stage, Candidates>;

/// For each stage the setting that loses least against `decided`, a decision among the project's
/// own paths; all of them together, where two want different values of one variable. A stage is
/// open where no two paths were measured, and where all is undecided. What `known` says of a stage
/// counts instead of its decision. `longest`: the longest problem that the program runs. A stage
/// without a setting that is right at all lengths gets the best one of those measured up to there,
/// if its paths were measured at that length or beyond.
Settlement settle(const Project& project, const ClassDecisions& decided,
                  const std::vector<VariantTraits>& variants, const PathTimes& times,
                  const Device& device, const Known& known = {},
                  const std::optional<Problem>& longest = {});

}  // namespace nsa::tuner
