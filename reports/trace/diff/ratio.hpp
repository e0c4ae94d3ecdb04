// The ratio of two sets of positive samples, with an interval.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nsa::trace {

struct Ratio {
  double value, low, high;
};

/// Of the geometric means, b to a, at confidence 1 - alpha (Welch's t on logarithms). Absent where
/// a set has fewer than two samples, or one that is not positive; equal sets have the ratio 1.
std::optional<Ratio> ratio_of(const std::vector<std::int64_t>& a,
                              const std::vector<std::int64_t>& b, double alpha);

/// The same of samples of which the i-th of one side belongs to the i-th of the other; absent with
/// less than three.
std::optional<Ratio> ratio_in_order(const std::vector<std::int64_t>& a,
                                    const std::vector<std::int64_t>& b, double alpha);

}  // namespace nsa::trace
