// What one row is judged by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile.hpp"
#include "ratio.hpp"

namespace nsa::trace {

/// Times of one thing on one side; with one run they are in its order.
struct SampleSet {
  std::string unit;  // "run", "step" or "call"
  Series a, b;
  /// The same calls in the same order on both sides: each sample of one belongs to one of the
  /// other.
  bool in_order = false;
};

/// Of a stage or a kernel, by run: nullptr where a run does not hold it.
SampleSet samples_of(const std::vector<const Samples*>& a, const std::vector<const Samples*>& b);
/// Of the steps themselves.
SampleSet step_samples(const std::vector<Profile>& a, const std::vector<Profile>& b);

/// Neighbours are like each other (clocks, caches), so long series are cut into a few batches,
/// whose means are nearly independent. Of two sides both are cut or none.
std::vector<std::int64_t> batch_means(const std::vector<std::int64_t>& series);

}  // namespace nsa::trace
