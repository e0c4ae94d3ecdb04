// Rows sorted into the contests that decisions are made from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nsa/tuner/decide.hpp"
#include "pairs.hpp"
#include "row_filter.hpp"

namespace nsa::tuner {

/// One (process, round) of one problem: what each variant took there.
struct Block {
  std::map<std::size_t, Arm> arms;      // by index of Group::variants
  std::map<std::size_t, Arm> controls;  // the A/A twins
};

/// One problem that was measured. Several may share an axis value (batch 2 and 4; every length
/// beyond the window on the axis row_len).
struct Spot {
  std::int64_t at = 0;  // axis value
  std::vector<Block> blocks;
  std::vector<bool> usable;  // by index of Group::variants: may be chosen there
  Rows rows;
};

/// Everything that one decision rests on.
struct Group {
  ProblemClass problem_class;
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  std::vector<VariantId> variants;  // eligible ones first, in the order of the catalog
  std::size_t eligible = 0;         // how many of them may be chosen
  std::vector<Spot> spots;          // ascending by axis value
};

struct ClassRows {
  ProblemClass problem_class;
  Rows rows;  // whatever the stage: reserves are made from them
  std::vector<Group> groups;
};

/// Sorted, so that the order of the rows does not matter. Adds a note for rows that do not compare.
std::vector<ClassRows> group_rows(const DecideInput& input, std::vector<std::string>& notes);

}  // namespace nsa::tuner
