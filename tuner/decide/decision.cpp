#include "decision.hpp"

#include <algorithm>

#include "decide/keep_ranges.hpp"
#include "decide/ranges/alignment.hpp"
#include "decide/ranges/held_out.hpp"

namespace nsa::tuner {
namespace {

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

/// The shipped ranges of lengths that are a multiple, or of the others; nullptr where the shipped
/// file tells other lengths apart. `multiple` 0: none are.
const std::vector<ThresholdRange>* ranges_of(const Decision* shipped, Axis axis,
                                             std::int64_t multiple, bool aligned) {
  if (!shipped || shipped->axis != axis) return nullptr;
  const auto& alignment = shipped->alignment;
  if ((alignment ? alignment->multiple : 0) != multiple) return nullptr;
  return aligned ? &alignment->ranges : &shipped->ranges;
}

void add_ranges(const Group& group, const std::vector<LengthRatios>& points,
                const Decision* shipped, const DecideOptions& options,
                std::vector<std::string>& notes, Decision& decision) {
  const std::vector<LengthRatios> judged = judge(group, points, shipped, options);
  const Chosen together = choose(group, judged, shipped, options, notes);
  const Side all{group,    points,  judged,
                 together, options, ranges_of(shipped, group.axis, 0, false)};
  if (together.kept) return keep_ranges(all, *shipped, decision);
  const auto apart = decide_apart(group, judged, together, shipped, options);
  if (!apart) {
    decision.ranges = with_what_is_out_of_reach(all, make_ranges(all));
    return;
  }
  const auto ranges = [&](const std::vector<LengthRatios>& judged_side, const Chosen& chosen,
                          bool aligned) {
    std::vector<LengthRatios> of_side;
    for (const LengthRatios& point : points)
      if ((point.at % apart->multiple == 0) == aligned) of_side.push_back(point);
    const Side side{group,  of_side, judged_side,
                    chosen, options, ranges_of(shipped, group.axis, apart->multiple, aligned)};
    return with_what_is_out_of_reach(side, make_ranges(side));
  };
  decision.ranges = ranges(apart->others, apart->of_others, false);
  decision.alignment = Alignment{apart->multiple, ranges(apart->aligned, apart->of_aligned, true)};
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
