#include "boards.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "decide/decision.hpp"
#include "decide/ranges/evidence.hpp"
#include "decide/ratios/nights.hpp"

namespace nsa::tuner {
namespace {

std::set<std::string> boards_of(const DecideInput& input) {
  std::set<std::string> boards;
  for (const Observation& row : input.rows.rows()) {
    if (*row.executor == input.options.executor && !row.board->empty()) boards.insert(*row.board);
  }
  return boards;
}

std::optional<std::size_t> index_of(const Group& group, const VariantId& id) {
  const auto found = std::ranges::find(group.variants, id);
  if (found == group.variants.end()) return std::nullopt;
  return static_cast<std::size_t>(found - group.variants.begin());
}

/// One board's times of a range.
struct TimesOfBoard {
  const std::string& board;
  const Group& group;
  const std::vector<LengthRatios>& points;  // of the range, where the chosen variant was measured
  std::size_t chosen = 0;
};

/// The time of the chosen variant against that of another one, over the points that have both.
Evidence ratio_to(const TimesOfBoard& times, std::size_t other) {
  Evidence evidence;
  std::vector<LengthRatios> both;
  std::ranges::copy_if(times.points, std::back_inserter(both),
                       [&](const LengthRatios& point) { return point.usable[other]; });
  if (!both.empty()) add_ratio(times.group, both, {0, both.size(), times.chosen}, other, evidence);
  return evidence;
}

void add_spread(const TimesOfBoard& times, const ThresholdRange& range, BoardSpread& spread) {
  if (!range.evidence.runner_up) return;
  const auto other = index_of(times.group, parse_variant_id(*range.evidence.runner_up));
  const auto ratio = other ? ratio_to(times, *other).median_ratio : std::nullopt;
  if (!ratio) return;
  spread.ratio_low = std::min(*ratio, spread.ratio_low.value_or(*ratio));
  spread.ratio_high = std::max(*ratio, spread.ratio_high.value_or(*ratio));
}

/// What the board would run at a point by its own decision, if that is another variant and not a
/// tie with the chosen one.
std::optional<std::size_t> runs_instead(const TimesOfBoard& times, const Decision& own,
                                        const LengthRatios& point) {
  const ThresholdRange* range = range_at(own, point.at);
  if (!range || range->basis != Basis::measured) return std::nullopt;
  const VariantId& chosen = times.group.variants[times.chosen];
  const std::vector<std::string>& ties = range->evidence.ties;
  if (range->variant == chosen || std::ranges::find(ties, to_string(chosen)) != ties.end())
    return std::nullopt;
  const auto other = index_of(times.group, range->variant);
  return other && point.usable[*other] ? other : std::nullopt;
}

/// Variants that the board would run instead, where it surely loses without them.
void add_dissent(const TimesOfBoard& times, const Decision& own, double epsilon,
                 BoardSpread& spread) {
  std::map<std::size_t, std::vector<LengthRatios>> instead;
  for (const LengthRatios& point : times.points) {
    if (const auto other = runs_instead(times, own, point)) instead[*other].push_back(point);
  }
  for (const auto& [other, points] : instead) {
    const Evidence ratio = ratio_to({times.board, times.group, points, times.chosen}, other);
    if (!ratio.ratio_low || std::log(*ratio.ratio_low) <= epsilon) continue;
    spread.dissenting.push_back({times.board, to_string(times.group.variants[other]),
                                 *ratio.median_ratio, std::ssize(points)});
  }
}

/// What is found of each range.
using Spreads = std::map<const ThresholdRange*, BoardSpread>;

void compare(const std::string& board, const Group& group, const Decision& together,
             const Decision* own, const DecideOptions& options, Spreads& spreads) {
  std::map<const ThresholdRange*, std::vector<LengthRatios>> points;
  for (LengthRatios& point : estimate(group.points, options)) {
    const ThresholdRange* range = range_at(together, point.at);
    const auto chosen = range ? index_of(group, range->variant) : std::nullopt;
    if (chosen && point.usable[*chosen]) points[range].push_back(std::move(point));
  }
  for (const auto& [range, of_range] : points) {
    const TimesOfBoard times{board, group, of_range, *index_of(group, range->variant)};
    BoardSpread& spread = spreads[range];
    ++spread.boards;
    add_spread(times, *range, spread);
    if (own) add_dissent(times, *own, options.epsilon, spread);
  }
}

void add_board(const DecideInput& input, const std::string& board, const ThresholdTable& together,
               Spreads& spreads) {
  DecideInput own = input;
  own.shipped.reset();
  own.rows = input.rows.only([&](const Observation& row) { return *row.board == board; });
  const ThresholdTable decided = decide_ranges(own).table;
  std::vector<std::string> unused;
  for (ClassRows& of_class : group_rows(own, unused)) {
    for (Group& group : of_class.groups) {
      const Decision* decision = find_decision(together, group.problem_class, group.stages);
      if (!decision || decision->axis != group.axis) continue;
      keep_precise_runs(group, unused);
      keep_agreeing_runs(group, unused);
      compare(board, group, *decision, find_decision(decided, group.problem_class, group.stages),
              input.options, spreads);
    }
  }
}

}  // namespace

void add_boards(const DecideInput& input, DecideReport& report) {
  const std::set<std::string> boards = boards_of(input);
  if (boards.size() < 2) return;
  Spreads spreads;
  for (const std::string& board : boards) add_board(input, board, report.table, spreads);
  const auto add = [&](std::vector<ThresholdRange>& ranges) {
    for (ThresholdRange& range : ranges) {
      const auto found = spreads.find(&range);
      if (found == spreads.end() || found->second.boards < 2) continue;
      ++report.compared;
      report.disputed += found->second.dissenting.empty() ? 0 : 1;
      range.evidence.boards = std::move(found->second);
    }
  };
  for (ClassDecisions& of_class : report.table.classes) {
    for (Decision& decision : of_class.decisions) {
      add(decision.ranges);
      if (decision.alignment) add(decision.alignment->ranges);
    }
  }
}

}  // namespace nsa::tuner
