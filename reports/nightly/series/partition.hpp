// Several steps at once, which hide from every single split.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace nsa::nightly {

/// Places of the steps between the levels that explain most of `data` (optimal partitioning).
/// Levels that rise and fall again make the SD around any single split large; here each level is
/// measured by the noise from night to night, which no level makes larger. A step costs the t^2
/// that some stretch of nights without a change reaches with a chance of `alpha`, by Student's t
/// times the number of stretches, and more where nights resemble the night before: good enough to
/// propose steps that are judged by themselves between their neighbours.
/// @param noise  SD from night to night; without it there are none
/// @return       ascending, in (0, size)
std::vector<std::size_t> best_partition(std::span<const double> data, double noise, double alpha);

}  // namespace nsa::nightly
