// Where a range ends between two measured lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "choose_assignment.hpp"

namespace nsa::tuner {

/// Consecutive points [first, last) with one variant.
struct Segment {
  std::size_t first = 0, last = 0;
  std::size_t variant = 0;
  bool undecided = false;
};
/// `undecided`: of each point; empty = none is.
std::vector<Segment> segments_of(const Assignment& assignment,
                                 const std::vector<bool>& undecided = {});

/// First length of the right range, between the last length of the left and the first of the right
/// (the latter included): the zero of log(left / right), interpolated on a log axis. Where one of
/// them cannot run on the other's side, the one that was seen to work on both sides keeps the gap.
std::int64_t place_boundary(const std::vector<LengthRatios>& points, const Segment& left,
                            const Segment& right);

/// 95 % interval of that boundary: in each replicate the split of least regret, placed likewise.
/// Curves are not straight between lengths: by how much is seen at lengths between others, and is
/// part of the replicates. Where too few lengths tell, the interval is the whole gap at least.
struct BoundaryInterval {
  std::int64_t low = 0, high = 0;
};
std::optional<BoundaryInterval> boundary_interval(const std::vector<LengthRatios>& points,
                                                  const Segment& left, const Segment& right);

}  // namespace nsa::tuner
