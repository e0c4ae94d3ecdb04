#include "moved_boundaries.hpp"

#include <algorithm>

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {
namespace {

constexpr double kWorthMoving = 0.01;  // log ratio: what verify() calls a loss, too
constexpr double kTail = 0.05;

/// Points [first, last) where two assignments differ.
struct Stretch {
  std::size_t first = 0, last = 0;
};
std::vector<Stretch> stretches_of(const Assignment& before, const Assignment& now) {
  std::vector<Stretch> found;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] == now[i]) continue;
    if (found.empty() || found.back().last != i) found.push_back({i, i});
    found.back().last = i + 1;
  }
  return found;
}

/// The first points to the right of one boundary, before and now.
struct Move {
  std::size_t before = 0, now = 0;
};
/// A stretch of one variant instead of one other, each of which goes on on one side of it.
std::optional<Move> move_of(const Stretch& stretch, const Assignment& before,
                            const Assignment& now) {
  const auto [first, last] = stretch;
  if (first == 0 || last == now.size()) return std::nullopt;
  for (std::size_t i = first; i < last; ++i)
    if (before[i] != before[first] || now[i] != now[first]) return std::nullopt;
  if (now[first - 1] == now[first] && now[last] == before[first]) return Move{first, last};
  if (now[first - 1] == before[first] && now[last] == now[first]) return Move{last, first};
  return std::nullopt;
}

bool may_stay(const std::vector<LengthRatios>& points, const Decision& shipped, const Move& move,
              const Assignment& now) {
  const ThresholdRange* range = range_at(shipped, points[move.before].at);
  if (!range || range->from <= points[move.before - 1].at) return false;
  const std::vector<Segment> segments = segments_of(now);
  const auto right = std::ranges::find(segments, move.now, &Segment::first);
  const auto left = std::prev(right);
  return may_be_where_it_was(*range, place_boundary(points, *left, *right),
                             boundary_interval(points, *left, *right));
}

}  // namespace

bool may_be_where_it_was(const ThresholdRange& shipped, std::int64_t now,
                         const std::optional<BoundaryInterval>& today) {
  const auto low = shipped.evidence.from_low, high = shipped.evidence.from_high;
  const bool as_shipped = low && high && *low <= now && now <= *high;
  return as_shipped || (today && today->low <= shipped.from && shipped.from <= today->high);
}

Assignment without_idle_moves(const std::vector<LengthRatios>& points, const Decision& shipped,
                              const Assignment& before, const Assignment& now) {
  Assignment result = now;
  for (const Stretch& stretch : stretches_of(before, now)) {
    const auto move = move_of(stretch, before, now);
    if (!move || !may_stay(points, shipped, *move, now)) continue;
    const auto first = static_cast<std::ptrdiff_t>(stretch.first);
    Assignment stayed = now;
    std::copy_n(before.begin() + first, stretch.last - stretch.first, stayed.begin() + first);
    const Gain gain = gain_of(points, stayed, now, kTail);
    if (gain.needed || gain.low > kWorthMoving) continue;
    std::copy_n(before.begin() + first, stretch.last - stretch.first, result.begin() + first);
  }
  return result;
}

}  // namespace nsa::tuner
