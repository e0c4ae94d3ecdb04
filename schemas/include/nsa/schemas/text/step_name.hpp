// Which names of ranges mean a step of a training or serving loop: one rule for who records and for
// who reads. Functions share nothing: threads may call them at the same time.
#pragma once

#include <string_view>

namespace nsa {

enum class StepName {
  no,
  /// "step", "train_step", "batch:9": a step where nothing says it better.
  likely,
  /// "step 3", "ProfilerStep#3", "iteration_10", "training step 7", "train_step[4]", "iter-2".
  certain
};
/// What a range's name says of it, in upper or lower case.
StepName step_name(std::string_view name);

}  // namespace nsa
