// Sets of time as sorted, disjoint, non-empty half-open intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace nsa::trace {

struct Interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};
using IntervalSet = std::vector<Interval>;

/// The union of any intervals.
IntervalSet union_of(std::vector<Interval> any);
IntervalSet intersection(const IntervalSet& a, const IntervalSet& b);
/// Of what is in both, which is not kept: it may be as large as they are.
std::int64_t length_of_intersection(const IntervalSet& a, const IntervalSet& b);
/// What is in `a` and not in `b`.
IntervalSet difference(const IntervalSet& a, const IntervalSet& b);
std::int64_t length(const IntervalSet& set);

}  // namespace nsa::trace
