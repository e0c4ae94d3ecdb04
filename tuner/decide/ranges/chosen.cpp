#include "chosen.hpp"

#include <algorithm>

#include "evidence.hpp"
#include "moved_boundaries.hpp"

namespace nsa::tuner {
namespace {

/// What would run there without this decision: the first usable one of the built-in order.
Assignment built_in_assignment(const Group& group, const std::vector<LengthRatios>& points) {
  Assignment assignment;
  for (const LengthRatios& point : points) {
    assignment.push_back(
        *std::ranges::find_if(group.built_in, [&](std::size_t v) { return point.usable[v]; }));
  }
  return assignment;
}

/// The same points where each process counts once: rounds would draw a change to a tie.
std::vector<LengthRatios> by_processes(const Group& group, const std::vector<LengthRatios>& judged,
                                       const Decision* shipped, const DecideOptions& options) {
  std::vector<LengthRatios> points;
  for (LengthRatios& point : estimate(group.points, options, Weights::processes)) {
    if (std::ranges::find(judged, point.point, &LengthRatios::point) != judged.end())
      points.push_back(std::move(point));
  }
  return judge(group, points, shipped, options);
}

/// From where on the lengths of a segment lose more than may be lost: the doubt is of its tail
/// alone where the lengths before it are sure without it. segment.first: all of it is in doubt.
std::size_t doubt_begins(const Group& group, const std::vector<LengthRatios>& points,
                         const Segment& segment, const DecideOptions& options) {
  std::size_t tail = segment.last;
  while (tail > segment.first) {
    std::size_t from = tail;  // the first problem of the length before
    double regret = 0;
    while (from > segment.first && points[from - 1].at == points[tail - 1].at)
      regret += regret_of(points[--from], segment.variant);
    if (regret <= options.max_doubt * static_cast<double>(tail - from)) break;
    tail = from;
  }
  if (tail == segment.first || tail == segment.last) return segment.first;
  const bool sure =
      doubt_of(group, points, {segment.first, tail, segment.variant}, options).empty();
  return sure ? tail : segment.first;
}

}  // namespace

void leave_undecided(const Group& group, const std::vector<LengthRatios>& points,
                     const Decision* shipped, const DecideOptions& options, Chosen& chosen) {
  const Assignment built_in = built_in_assignment(group, points);
  const auto before = read_shipped(shipped, group, points, built_in);
  chosen.undecided.assign(points.size(), false);
  for (const Segment& segment : segments_of(chosen.assignment)) {
    if (doubt_of(group, points, segment, options).empty()) continue;
    const std::size_t from = doubt_begins(group, points, segment, options);
    for (std::size_t i = from; i < segment.last; ++i) {
      chosen.undecided[i] = true;
      chosen.assignment[i] = before ? before->assignment[i] : built_in[i];
    }
  }
}

std::vector<LengthRatios> judge(const Group& group, const std::vector<LengthRatios>& points,
                                const Decision* shipped, const DecideOptions& options) {
  if (!(options.margin > 1)) return points;
  const Assignment single = best_single(points);
  const std::optional<Shipped> before = read_shipped(shipped, group, points, single);
  return with_margin(points, before ? before->assignment : single, options.margin);
}

Chosen choose(const Group& group, const std::vector<LengthRatios>& judged, const Decision* shipped,
              const DecideOptions& options, std::vector<std::string>& notes) {
  Chosen chosen{choose_assignment(judged, options), {}, false};
  const std::optional<Shipped> old = read_shipped(shipped, group, judged, chosen.assignment);
  const std::string stage = join_stages(group.stages);
  if (old && !old->followed) {
    notes.push_back(stage +
                    ": a shipped variant was not measured or may not be chosen here; decided anew "
                    "there");
  }
  const bool differs = old && old->assignment != chosen.assignment;
  if (differs) {
    // What is left of a change has to pay as well: it is judged by its mean, so leaving the idle
    // part out could make one of a change that did not pay.
    const auto points = by_processes(group, judged, shipped, options);
    const auto pays = [&](const Assignment& now) {
      return change_pays(points, old->assignment, now, options.epsilon);
    };
    Assignment moved = old->assignment;
    if (pays(chosen.assignment))
      moved = without_idle_moves(judged, *shipped, old->assignment, chosen.assignment);
    chosen.assignment = pays(moved) ? moved : old->assignment;
  }
  chosen.kept = old && old->followed && chosen.assignment == old->assignment;
  if (chosen.kept && differs) notes.push_back(stage + ": the shipped choice is kept");
  leave_undecided(group, judged, shipped, options, chosen);
  return chosen;
}

}  // namespace nsa::tuner
