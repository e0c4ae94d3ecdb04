#include "keep_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decide/ranges/ends.hpp"

namespace nsa::tuner {
namespace {

using Ranges = std::vector<ThresholdRange>;

/// Points [first, last) of a side; empty: none.
Segment points_in(const Side& side, const ThresholdRange& range) {
  Segment segment;
  for (std::size_t i = 0; i < side.points.size(); ++i) {
    const std::int64_t at = side.points[i].at;
    if (at < range.from || (range.to && at >= *range.to)) continue;
    if (segment.last == 0) segment = {i, i, side.chosen.assignment[i], side.chosen.undecided[i]};
    segment.last = i + 1;
  }
  return segment;
}

/// Tonight's evidence of a shipped range, and what its place rests on. The next night has to know
/// of lengths further out, too.
ThresholdRange refreshed(const Side& side, const Segment& segment, const ThresholdRange& shipped) {
  ThresholdRange range = range_of(side, segment);
  range.from = shipped.from;
  range.to = shipped.to;
  range.evidence.from_low = shipped.evidence.from_low;
  range.evidence.from_high = shipped.evidence.from_high;
  if (shipped.evidence.measured_from.value_or(side.points.front().at) < side.points.front().at)
    range.evidence.measured_from = shipped.evidence.measured_from;
  if (shipped.evidence.measured_to.value_or(0) > side.points.back().at)
    range.evidence.measured_to = shipped.evidence.measured_to;
  return range;
}

/// The shortest and the longest length that ranges rest on.
struct Reach {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max(), longest = 0;
};
Reach reach_of(const Ranges& ranges) {
  Reach reach;
  for (const ThresholdRange& range : ranges) {
    const Evidence& evidence = range.evidence;
    if (evidence.measured_from) reach.shortest = std::min(reach.shortest, *evidence.measured_from);
    if (evidence.measured_to) reach.longest = std::max(reach.longest, *evidence.measured_to);
  }
  return reach;
}

/// The shipped ranges between tonight's lengths and on them; `shorter` and `longer`: beyond them,
/// too. Those of one variant that are measured now are one, though the second was extrapolated.
Ranges inner(const Side& side, const Ranges& shipped, bool shorter, bool longer) {
  Ranges ranges;
  Segment before;
  for (const ThresholdRange& range : shipped) {
    const Segment segment = points_in(side, range);
    if (segment.last == 0) {
      const bool below = range.to && *range.to <= side.points.front().at;
      const bool above = range.from > side.points.back().at;
      if ((!below || shorter) && (!above || longer)) ranges.push_back(range);
    } else if (before.last == segment.first && before.last > 0 && ranges.back().to == range.from &&
               before.variant == segment.variant) {
      before.last = segment.last;
      const auto to = range.to;
      ranges.back() = refreshed(side, before, ranges.back());
      ranges.back().to = to;
      continue;
    } else {
      ranges.push_back(refreshed(side, segment, range));
    }
    before = segment;
  }
  return ranges;
}

/// The last range that ends, and what goes on after it.
struct End {
  std::optional<std::size_t> last, beyond;
};
End last_of(const Ranges& ranges) {
  End end;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    (ranges[i].basis == Basis::extrapolated ? end.beyond : end.last) = i;
  return end;
}

/// What lies beyond all lengths is predicted, to a tenth at best, and further out to a tenth of the
/// distance on the logarithmic axis: a place that moved by less is the same.
std::int64_t settled(std::int64_t longest, std::int64_t before, std::int64_t now) {
  constexpr double kTenth = 0.1;
  const double reach = kTenth * std::max(1.0, log_axis(now) - log_axis(longest));
  return std::abs(log_axis(before) - log_axis(now)) <= reach ? before : now;
}

/// Ends and extrapolations of tonight stay at the shipped places where noise alone moved them.
void settle_ends(std::int64_t longest, const Ranges& shipped, Ranges& now) {
  const End old = last_of(shipped), end = last_of(now);
  if (!old.last || !end.last) return;
  const ThresholdRange& before = shipped[*old.last];
  ThresholdRange& last = now[*end.last];
  const bool without_gap = end.beyond && last.to && now[*end.beyond].from == *last.to;
  if (before.variant == last.variant && before.to && last.to)
    last.to = std::max(longest + 1, settled(longest, *before.to, *last.to));
  if (!end.beyond) return;
  ThresholdRange& beyond = now[*end.beyond];
  if (without_gap) {  // so it stays at the settled end: no length between is left out
    beyond.from = *last.to;
    return;
  }
  if (old.beyond && shipped[*old.beyond].variant == beyond.variant)
    beyond.from = settled(longest, shipped[*old.beyond].from, beyond.from);
  beyond.from = std::max(beyond.from, last.to.value_or(beyond.from));
}

/// What goes on beyond all lengths stays where tonight's rows only leave it in doubt.
void keep_beyond(const Side& side, const Ranges& shipped, Ranges& now) {
  const End old = last_of(shipped);
  if (!old.beyond || last_of(now).beyond) return;
  const ThresholdRange& before = shipped[*old.beyond];
  const auto variant = std::ranges::find(side.group.variants, before.variant);
  if (variant == side.group.variants.end()) return;
  Segment longest{side.points.size() - 1, side.points.size()};
  longest.variant = static_cast<std::size_t>(variant - side.group.variants.begin());
  if (!may_go_on(side.group, side.points, longest.variant)) return;
  ThresholdRange range = range_of(side, longest);
  const bool without_gap = old.last && before.from == shipped[*old.last].to;
  range.from = without_gap ? *now.back().to : std::max(before.from, *now.back().to);
  range.basis = Basis::extrapolated;
  range.evidence.why = before.evidence.why;
  now.push_back(std::move(range));
}

Ranges kept(const Side& side, const Ranges& shipped) {
  if (side.points.empty()) return shipped;
  const Reach old = reach_of(shipped);
  const std::int64_t shortest = side.points.front().at, longest = side.points.back().at;
  const bool shorter = old.shortest < shortest;
  const bool longer = old.longest > longest;
  Ranges ranges = inner(side, shipped, shorter, longer);
  if (!shorter) ranges.front().from = earliest_start(shortest);
  if (!longer) {
    ranges.back().to = end_of(side.group, side.points, side.chosen.assignment.back());
    extrapolate(side, side.chosen.assignment.back(), ranges);
    settle_ends(longest, shipped, ranges);
    keep_beyond(side, shipped, ranges);
  }
  return ranges;
}

/// The problems that one list of ranges decides: those whose length is a multiple, or the others.
struct Part {
  std::vector<LengthRatios> points;
  Chosen chosen;
};
Part part_of(const Side& side, const Decision& shipped, bool full_tiles) {
  const auto& alignment = shipped.alignment;
  Part part;
  for (std::size_t i = 0; i < side.points.size(); ++i) {
    const bool full = alignment && side.points[i].at % alignment->multiple == 0;
    if (full != full_tiles) continue;
    part.points.push_back(side.points[i]);
    part.chosen.assignment.push_back(side.chosen.assignment[i]);
  }
  // Among all lengths, those of the other part cut the segments short.
  leave_undecided(side.group, part.points, &shipped, side.options, part.chosen);
  return part;
}

/// A range that was cut rests on no length beyond what is left of it.
ThresholdRange with_own_lengths(ThresholdRange range) {
  if (range.basis == Basis::extrapolated) return range;
  Evidence& evidence = range.evidence;
  if (evidence.measured_to && range.to)
    evidence.measured_to = std::min(*evidence.measured_to, *range.to - 1);
  if (evidence.measured_from)
    evidence.measured_from = std::max(*evidence.measured_from, range.from);
  return range;
}

}  // namespace

void keep_ranges(const Side& side, const Decision& shipped, Decision& decision) {
  const auto& alignment = shipped.alignment;
  const auto ranges_of = [&](const Ranges& ranges, bool full_tiles) {
    const Part part = part_of(side, shipped, full_tiles);
    return kept({side.group, part.points, part.points, part.chosen, side.options}, ranges);
  };
  decision.ranges = ranges_of(shipped.ranges, false);
  decision.alignment = alignment;
  if (alignment) decision.alignment->ranges = ranges_of(alignment->ranges, true);
}

std::vector<ThresholdRange> with_what_is_out_of_reach(const Side& side,
                                                      std::vector<ThresholdRange> ranges) {
  if (!side.shipped || side.shipped->empty() || ranges.empty()) return ranges;
  const Reach old = reach_of(*side.shipped);
  Ranges whole;
  if (old.shortest < side.points.front().at) {
    for (ThresholdRange range : *side.shipped) {
      if (range.from >= ranges.front().from) break;
      if (!range.to || *range.to > ranges.front().from) range.to = ranges.front().from;
      whole.push_back(with_own_lengths(std::move(range)));
    }
  }
  const bool longer = old.longest > side.points.back().at;
  if (longer && last_of(ranges).beyond) ranges.pop_back();  // it is known there
  whole.insert(whole.end(), ranges.begin(), ranges.end());
  if (!longer || !whole.back().to) return whole;
  const std::int64_t end = *whole.back().to;
  for (ThresholdRange range : *side.shipped) {
    if (range.to && *range.to <= end) continue;
    range.from = std::max(range.from, end);
    whole.push_back(with_own_lengths(std::move(range)));
  }
  return whole;
}

}  // namespace nsa::tuner
