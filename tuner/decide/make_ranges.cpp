#include "make_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decide/ranges/bridge.hpp"
#include "decide/ranges/ends.hpp"
#include "decide/ranges/evidence.hpp"
#include "decide/ranges/moved_boundaries.hpp"

namespace nsa::tuner {
namespace {

/// The shipped range that takes over from one variant to the other between two measured lengths.
const ThresholdRange* shipped_start(const Side& side, const ThresholdRange& left,
                                    const ThresholdRange& right, std::int64_t below,
                                    std::int64_t above) {
  if (!side.shipped) return nullptr;
  for (std::size_t r = 1; r < side.shipped->size(); ++r) {
    const ThresholdRange &before = (*side.shipped)[r - 1], &after = (*side.shipped)[r];
    const bool same = before.variant == left.variant && after.variant == right.variant;
    if (same && before.to == after.from && after.from > below && after.from <= above) return &after;
  }
  return nullptr;
}

/// The boundary of two segments, and no further from either than its own lengths speak for. Where
/// it is shipped, as long as it may be there, with the interval that this place rests on.
void join(const Side& side, const Segment& left_segment, const Segment& right_segment,
          ThresholdRange& left, ThresholdRange& right) {
  const std::int64_t below = side.points[left_segment.last - 1].at;
  const std::int64_t above = side.points[right_segment.first].at;
  const std::int64_t boundary = place_boundary(side.judged, left_segment, right_segment);
  const auto interval = boundary_interval(side.judged, left_segment, right_segment);
  const ThresholdRange* before = shipped_start(side, left, right, below, above);
  if (before && may_be_where_it_was(*before, boundary, interval)) {
    left.to = right.from = before->from;
    right.evidence.from_low = before->evidence.from_low;
    right.evidence.from_high = before->evidence.from_high;
    return;
  }
  left.to = std::min(boundary, latest_end(below));
  right.from = std::max(boundary, earliest_start(above));
  if (interval) {
    right.evidence.from_low = std::min(interval->low, right.from);
    right.evidence.from_high = std::max(interval->high, right.from);
  }
}

/// Ranges that fill the gap between those of two segments, and where these end and begin then.
/// False: nothing has to.
bool join_by_bridge(const Side& side, const Segment& left_segment, const Segment& right_segment,
                    std::vector<ThresholdRange>& ranges, ThresholdRange& right) {
  const std::vector<Segment> between = bridge(side.judged, left_segment, right_segment);
  if (between.empty()) return false;
  const Segment& both = between.front();  // the points of the two lengths, as in each of them
  const std::int64_t shorter = side.points[both.first].at, longer = side.points[both.last - 1].at;
  const auto boundary = [&](std::size_t left, std::size_t next) {
    return place_boundary(side.judged, {both.first, left_segment.last, left},
                          {right_segment.first, both.last, next});
  };
  std::size_t before = left_segment.variant;
  for (const Segment& segment : between) {
    ThresholdRange range = range_of(side, segment);
    // At one of the two lengths a variant is faster that cannot run at the other.
    range.evidence.expected_regret = 0;
    range.evidence.why =
        fmt::format("the fastest of those that run at both {} and {}", shorter, longer);
    range.from = boundary(before, segment.variant);
    ranges.back().to = range.from;
    ranges.push_back(std::move(range));
    before = segment.variant;
  }
  right.from = boundary(before, right_segment.variant);
  ranges.back().to = right.from;
  std::erase_if(ranges,
                [](const ThresholdRange& range) { return range.to && *range.to <= range.from; });
  return true;
}

/// One length may not prove a switch by itself. Where the lengths before it say as well that
/// another variant runs beyond all of them, that one runs from where it takes the lead, not from
/// twice the longest length.
Assignment with_overtaken_end(const Side& side) {
  Assignment assignment = side.chosen.assignment;
  const auto next = beyond(side.group, side.points, assignment.back());
  if (!next || side.chosen.undecided.back()) return assignment;
  constexpr double kTie = 0.02;  // log ratio
  const std::int64_t longest = side.points.back().at;
  for (std::size_t left = assignment.size(); left > 0 && side.points[left - 1].at == longest;
       --left) {
    const std::size_t i = left - 1;
    const LengthRatios& point = side.points[i];
    if (point.usable[next->variant] &&
        point.excess[next->variant] < point.excess[assignment[i]] - kTie)
      assignment[i] = next->variant;
  }
  return assignment;
}

}  // namespace

ThresholdRange range_of(const Side& side, const Segment& segment) {
  ThresholdRange range;
  range.variant = side.group.variants[segment.variant];
  range.source_hash = source_hash_of(side.group, side.points, segment);
  range.evidence = evidence_of(side.group, side.points, segment, side.options);
  if (segment.undecided) {
    range.basis = Basis::undecided;
    range.evidence.why = "noise hides which is best; what was there before is left there";
  }
  return range;
}

void extrapolate(const Side& side, std::size_t last_variant, std::vector<ThresholdRange>& ranges) {
  const ThresholdRange& last = ranges.back();
  const auto found = beyond(side.group, side.points, last_variant);
  if (!found || last.basis == Basis::undecided) return;
  ThresholdRange range;
  range.from = std::max(found->from, *last.to);
  range.variant = side.group.variants[found->variant];
  Segment segment;
  segment.first = side.points.size() - 1;
  segment.last = side.points.size();
  segment.variant = found->variant;
  range.source_hash = source_hash_of(side.group, side.points, segment);
  range.basis = Basis::extrapolated;
  range.evidence = evidence_of(side.group, side.points, segment, side.options);
  range.evidence.why = found->why;
  ranges.push_back(std::move(range));
}

std::vector<ThresholdRange> make_ranges(const Side& side) {
  const Assignment assignment = with_overtaken_end(side);
  const std::vector<Segment> segments = segments_of(assignment, side.chosen.undecided);
  std::vector<ThresholdRange> ranges;
  for (std::size_t r = 0; r < segments.size(); ++r) {
    ThresholdRange range = range_of(side, segments[r]);
    if (r > 0 && !join_by_bridge(side, segments[r - 1], segments[r], ranges, range))
      join(side, segments[r - 1], segments[r], ranges.back(), range);
    ranges.push_back(std::move(range));
  }
  ranges.front().from = earliest_start(side.points.front().at);
  ranges.back().to = end_of(side.group, side.points, segments.back().variant);
  extrapolate(side, assignment.back(), ranges);
  return ranges;
}

}  // namespace nsa::tuner
