// One decision: from the rows of a stage to its ranges.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decide/ranges/evidence.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// The decision of a group whose runs agree, or nothing where no variant may be chosen (a note says
/// so). `shipped`: the decision for the same class and stages in the shipped table, or nullptr.
std::optional<Decision> decide_group(const Group& group, const Decision* shipped,
                                     const DecideOptions& options, std::vector<std::string>& notes);

/// As decide(), with empty flat views.
DecideReport decide_ranges(const DecideInput& input);

}  // namespace nsa::tuner
