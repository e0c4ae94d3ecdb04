// Whether lengths that fill the last tile of a kernel are decided apart from all others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chosen.hpp"

namespace nsa::tuner {

/// Measured problems by whether their length is a multiple, each chosen for by itself.
struct Apart {
  std::int64_t multiple = 0;
  std::vector<LengthRatios> aligned, others;
  Chosen of_aligned, of_others;
};
/// The multiple that loses least, where that is surely less than what `together` loses, or as much
/// with fewer switches. `together` was chosen for all of `points`.
std::optional<Apart> decide_apart(const Group& group, const std::vector<LengthRatios>& points,
                                  const Chosen& together, const Decision* shipped,
                                  const DecideOptions& options);

}  // namespace nsa::tuner
