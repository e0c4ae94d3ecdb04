// What a thresholds file carries of the paths of other programs: enough to settle them without the
// rows that it was decided from.
#pragma once

#include <vector>

#include "path_ranges.hpp"

namespace nsa::tuner {

/// Decides for each project among its own paths, and adds that with their times to the classes of
/// `table`, which was decided from the same input.
void add_project_times(const DecideInput& input, ThresholdTable& table);

/// What a class of a file carries of one project, as settle() takes it; a stage that it carries has
/// times.
struct CarriedTimes {
  std::vector<Decision> decisions;
  PathTimes times;
  std::vector<VariantTraits> variants;  // in these stages with the orders that were declared then
};
/// `variants`: what the switches call the variants of the file.
CarriedTimes carried_times(const Project& project, const ClassDecisions& of,
                           const std::vector<VariantTraits>& variants);

}  // namespace nsa::tuner
