// The ratio of two sets of positive samples, with an interval.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nsa::trace {

struct Ratio {
  double value, low, high;
};

/// One side: what it is judged by, and the mean of all that these samples were made of. Batches of
/// unequal length would shift a mean of their own.
struct Series {
  bool operator==(const Series&) const = default;
  std::vector<std::int64_t> samples;
  double mean = 0;
};

/// Of the arithmetic means, b to a, since these are what the time adds up to. The interval, at
/// confidence 1 - alpha (Welch's t on logarithms), holds that of the geometric means too: where
/// calls differ tenfold, a few long ones on one side alone would seem a difference too often.
/// Absent where a side has fewer than two samples, or one that is not positive; equal sides have
/// the ratio 1.
std::optional<Ratio> ratio_of(const Series& a, const Series& b, double alpha);

/// The same of samples of which the i-th of one side belongs to the i-th of the other; absent with
/// less than three.
std::optional<Ratio> ratio_in_order(const Series& a, const Series& b, double alpha);

}  // namespace nsa::trace
