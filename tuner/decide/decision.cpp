#include "decision.hpp"

#include <algorithm>

#include "decide/ranges/alignment.hpp"
#include "decide/ranges/ends.hpp"
#include "decide/ranges/held_out.hpp"

namespace nsa::tuner {
namespace {

/// One side of a decision: the lengths that one list of ranges is made from.
struct Side {
  const Group& group;
  const std::vector<LengthRatios>& points;  // as measured
  const std::vector<LengthRatios>& judged;  // with the margin: boundaries lie on them
  const Chosen& chosen;
  const DecideOptions& options;
};

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

/// The boundary of two segments, and no further from either than its own lengths speak for.
void join(const Side& side, const Segment& left_segment, const Segment& right_segment,
          ThresholdRange& left, ThresholdRange& right) {
  const std::int64_t boundary = place_boundary(side.judged, left_segment, right_segment);
  left.to = std::min(boundary, latest_end(side.points[left_segment.last - 1].at));
  right.from = std::max(boundary, earliest_start(side.points[right_segment.first].at));
  if (const auto interval = boundary_interval(side.judged, left_segment, right_segment)) {
    right.evidence.from_low = std::min(interval->low, right.from);
    right.evidence.from_high = std::max(interval->high, right.from);
  }
}

/// What the declared orders say of all lengths beyond.
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

/// One length may not prove a switch by itself. Where the lengths before it say as well that
/// another variant runs beyond all of them, that one runs from where it takes the lead, not from
/// twice the longest length.
Assignment with_overtaken_end(const Side& side) {
  Assignment assignment = side.chosen.assignment;
  const auto next = beyond(side.group, side.points, assignment.back());
  if (!next || side.chosen.undecided.back()) return assignment;
  constexpr double kTie = 0.02;  // log ratio
  const std::int64_t longest = side.points.back().at;
  for (std::size_t i = assignment.size(); i-- > 0 && side.points[i].at == longest;) {
    const LengthRatios& point = side.points[i];
    if (point.usable[next->variant] &&
        point.excess[next->variant] < point.excess[assignment[i]] - kTie)
      assignment[i] = next->variant;
  }
  return assignment;
}

std::vector<ThresholdRange> make_ranges(const Side& side) {
  const Assignment assignment = with_overtaken_end(side);
  const std::vector<Segment> segments = segments_of(assignment, side.chosen.undecided);
  std::vector<ThresholdRange> ranges;
  for (std::size_t r = 0; r < segments.size(); ++r) {
    ranges.push_back(range_of(side, segments[r]));
    if (r > 0) join(side, segments[r - 1], segments[r], ranges[r - 1], ranges[r]);
  }
  ranges.front().from = earliest_start(side.points.front().at);
  ranges.back().to = end_of(side.group, side.points, segments.back().variant);
  extrapolate(side, assignment.back(), ranges);
  return ranges;
}

/// The shipped ranges, each with the evidence of today's rows where it holds a measured length. One
/// without an end, of an older file, ends where its evidence does.
std::vector<ThresholdRange> refresh(const Side& side, std::vector<ThresholdRange> ranges) {
  for (ThresholdRange& range : ranges) {
    Segment segment;
    for (std::size_t i = 0; i < side.points.size(); ++i) {
      if (side.points[i].at < range.from || (range.to && side.points[i].at >= *range.to)) continue;
      if (segment.last == 0) segment = {i, i, side.chosen.assignment[i]};
      segment.last = i + 1;
    }
    if (segment.last == 0) continue;
    const auto low = range.evidence.from_low, high = range.evidence.from_high;
    const std::string why = range.evidence.why;
    range.evidence = evidence_of(side.group, side.points, segment, side.options);
    range.evidence.from_low = low;
    range.evidence.from_high = high;
    range.evidence.why = why;
    range.source_hash = source_hash_of(side.group, side.points, segment);
    if (!range.to && range.basis == Basis::measured)
      range.to = latest_end(side.points[segment.last - 1].at);
  }
  return ranges;
}

void say_what_is_odd(const Group& group, const std::vector<LengthRatios>& points,
                     std::vector<std::string>& notes) {
  const std::string stage = join_stages(group.stages);
  if (points.size() < group.points.size()) {
    const std::size_t without = group.points.size() - points.size();
    notes.push_back(stage + ": " + std::to_string(without) +
                    (without == 1 ? " measured problem has" : " measured problems have") +
                    " no variant that may be chosen");
  }
  const bool one_round = std::ranges::all_of(
      group.points, [](const LengthPoint& point) { return point.blocks.size() < 2; });
  if (one_round) notes.push_back(stage + ": one round only, so no interval is known");
}

Decision blank(const Group& group) {
  Decision decision;
  decision.stages = group.stages;
  decision.axis = group.axis;
  decision.unit = "tokens";
  decision.launch = group.launch;
  decision.timer = group.timer;
  return decision;
}

void add_ranges(const Group& group, const std::vector<LengthRatios>& points,
                const Decision* shipped, const DecideOptions& options,
                std::vector<std::string>& notes, Decision& decision) {
  const std::vector<LengthRatios> judged = judge(group, points, shipped, options);
  const Chosen together = choose(group, judged, shipped, options, notes);
  const Side all{group, points, judged, together, options};
  if (together.kept) {
    decision.ranges = refresh(all, shipped->ranges);
    decision.alignment = shipped->alignment;
    return;
  }
  const auto apart = decide_apart(group, judged, together, shipped, options);
  if (!apart) {
    decision.ranges = make_ranges(all);
    return;
  }
  decision.ranges = make_ranges({group, apart->others, apart->others, apart->of_others, options});
  decision.alignment =
      Alignment{apart->multiple,
                make_ranges({group, apart->aligned, apart->aligned, apart->of_aligned, options})};
}

}  // namespace

std::optional<Decision> decide_group(const Group& group, const Decision* shipped,
                                     const DecideOptions& options,
                                     std::vector<std::string>& notes) {
  const std::vector<LengthRatios> points = estimate(group.points, options);
  if (points.empty()) {
    notes.push_back(join_stages(group.stages) +
                    ": no variant that may be chosen has a verified time");
    return std::nullopt;
  }
  say_what_is_odd(group, points, notes);
  Decision decision = blank(group);
  add_ranges(group, points, shipped, options, notes, decision);
  decision.held_out = held_out_regret(group, decision, options);
  return decision;
}

}  // namespace nsa::tuner
