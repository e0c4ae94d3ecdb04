// Rows sorted into the contests that decisions are made from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nsa/tuner/decide.hpp"
#include "row_filter.hpp"

namespace nsa::tuner {

/// One (process, round) of one problem: what each variant took there, as the mean over its visits
/// (A B B A: of both A, so that a linear drift cancels) of log ns; NaN = not visited.
struct RoundTimes {
  std::size_t run = 0;                 // index of Group::runs
  std::size_t process = 0;             // fresh processes of one problem are counted over all runs
  std::vector<double> arms, controls;  // by index of Group::variants; controls are the A/A controls
};

/// One problem that was measured. Several may share an axis value (batch 2 and 4; every length
/// beyond the window on the axis row_len).
struct LengthPoint {
  std::int64_t at = 0;  // axis value
  std::vector<RoundTimes> blocks;
  std::vector<bool> usable;   // by index of Group::variants: may be chosen there
  std::vector<bool> unasked;  // likewise: no run that measured here has it anywhere; or empty
  Rows rows;
};

/// Everything that one decision rests on.
struct Group {
  ProblemClass problem_class;
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  std::vector<VariantId> variants;               // eligible ones first, in the order of ties
  std::vector<std::optional<double>> exponents;  // of each, as declared for the axis
  std::size_t eligible = 0;                      // how many of them may be chosen
  std::vector<std::size_t> built_in;             // the eligible ones in the built-in order
  std::vector<std::string> runs;                 // newest first
  std::vector<std::string> boards;               // of each run, the device that it measured on
  std::vector<LengthPoint> points;               // ascending by axis value
  std::vector<LengthPoint> held_out;             // likewise: they judge, and decide nothing
};

struct ClassRows {
  ProblemClass problem_class;
  Rows rows;  // whatever the stage: reserves are made from them
  std::vector<Group> groups;
};

/// Sorted, so that the order of the rows does not matter. Adds a note for rows that do not compare.
std::vector<ClassRows> group_rows(const DecideInput& input, std::vector<std::string>& notes);

}  // namespace nsa::tuner
