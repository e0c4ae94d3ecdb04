#include "unasked.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "statistics.hpp"

namespace nsa::tuner {
namespace {

/// Standard deviation of a log ratio between two lengths: of other runs, other clocks, and of a
/// curve about the straight line, as a share of how far it moves. Launches plus work, c + kn, is
/// off by .04 of that at most over a factor of 4 in n, .06 over 16.
constexpr double kOtherRuns = 0.02, kCurved = 0.06;

using Runs = std::set<std::string>;

bool meet(const Runs& a, const Runs& b) {
  return std::ranges::any_of(a, [&](const std::string& run) { return b.contains(run); });
}

/// The nearest points on both sides where a variant was asked, and how far a point is from one to
/// the other.
struct Between {
  std::size_t below = 0, above = 0;
  double share = 0;
};

class Interpolation {
 public:
  Interpolation(const std::vector<LengthPoint>& points, const std::vector<LengthRatios>& estimates,
                std::uint64_t seed)
      : points_(points), known_(estimates), random_(seed) {}

  void fill(LengthRatios& estimate, std::size_t i, std::size_t v) {
    const std::optional<Between> between = neighbours(i, v);
    if (!between) return;
    const auto partner = shared_partner(i, *between);
    const auto value = [&](std::size_t at, auto&& read) {
      return partner ? read(known_[at], v) - read(known_[at], *partner)
                     : read(known_[at], v) + reference_time(at);
    };
    const auto line = [&](auto&& read) {
      const double below = value(between->below, read), above = value(between->above, read);
      const double here = partner ? read(known_[i], *partner) : -reference_time(i);
      return std::lerp(below, above, between->share) + here;
    };
    const auto excess = [](const LengthRatios& of, std::size_t w) { return of.excess[w]; };
    const double moves = value(between->above, excess) - value(between->below, excess);
    const bool on_a_point = between->below == between->above;
    const double sigma = std::hypot(kOtherRuns, on_a_point ? 0 : kCurved * moves);
    estimate.usable[v] = estimate.known[v] = true;
    estimate.excess[v] = line(excess);
    estimate.spread[v] = {variance_of(*between, v) + sigma * sigma, kFreedom};
    add_replicates(estimate, v, sigma, line);
  }

 private:
  static constexpr double kFreedom = 1000;

  bool asked(std::size_t j, std::size_t v) const { return !points_[known_[j].point].unasked[v]; }

  std::optional<Between> neighbours(std::size_t i, std::size_t v) const {
    std::optional<std::size_t> below, above;
    for (std::size_t j = 0; j < known_.size(); ++j) {
      if (!asked(j, v)) continue;
      if (known_[j].at <= known_[i].at) below = j;
      if (known_[j].at >= known_[i].at && !above) above = j;
    }
    if (!below || !above) return std::nullopt;
    // On one length both are the same point: the one at which it was asked there.
    if (known_[*below].at == known_[*above].at) above = below;
    for (const std::size_t j : {*below, *above})
      if (!known_[j].usable[v] || !known_[j].known[v]) return std::nullopt;
    const double low = log_axis(known_[*below].at), high = log_axis(known_[*above].at);
    const double share = high > low ? (log_axis(known_[i].at) - low) / (high - low) : 0;
    return Between{*below, *above, share};
  }

  /// The fastest one that was measured at all three points.
  std::optional<std::size_t> shared_partner(std::size_t i, const Between& between) const {
    std::optional<std::size_t> found;
    for (std::size_t w = 0; w < known_[i].known.size(); ++w) {
      const bool everywhere =
          known_[i].known[w] && known_[between.below].known[w] && known_[between.above].known[w];
      if (everywhere && (!found || known_[i].excess[w] < known_[i].excess[*found])) found = w;
    }
    return found;
  }

  /// log ns of what the ratios of a point are against.
  double reference_time(std::size_t i) const { return known_[i].reference_log_ns; }

  double variance_of(const Between& between, std::size_t v) const {
    const double far = between.share, near = 1 - between.share;
    return near * near * known_[between.below].spread[v].variance +
           far * far * known_[between.above].spread[v].variance;
  }

  template <class Line>
  void add_replicates(LengthRatios& estimate, std::size_t v, double sigma, const Line& line) {
    std::vector<double> replicates(estimate.replicate_count());
    if (replicates.empty()) return;
    const std::vector<double> draws = student_draws(kFreedom, replicates.size(), random_);
    for (std::size_t r = 0; r < replicates.size(); ++r) {
      const double value =
          line([r](const LengthRatios& of, std::size_t w) { return of.replicate(r, w); });
      replicates[r] = value + sigma * draws[r];
    }
    estimate.replicates[v] = std::make_shared<std::vector<double>>(std::move(replicates));
  }

  const std::vector<LengthPoint>& points_;
  const std::vector<LengthRatios>& known_;  // before anything was filled in
  Random random_;
};

}  // namespace

void mark_unasked(Group& group) {
  std::vector<Runs> of_variant(group.variants.size());
  for (const LengthPoint& point : group.points) {
    for (const Observation* row : point.rows) {
      const auto found = std::ranges::find(group.variants, *row->variant);
      of_variant[static_cast<std::size_t>(found - group.variants.begin())].insert(*row->run_id);
    }
  }
  for (LengthPoint& point : group.points) {
    Runs here;
    for (const Observation* row : point.rows) here.insert(*row->run_id);
    point.unasked.assign(group.variants.size(), false);
    for (std::size_t v = 0; v < group.eligible; ++v) point.unasked[v] = !meet(here, of_variant[v]);
  }
}

void interpolate_unasked(const std::vector<LengthPoint>& points, std::uint64_t seed,
                         std::vector<LengthRatios>& estimates) {
  const std::vector<LengthRatios> known = estimates;  // replicates are shared
  Interpolation interpolation(points, known, seed);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::vector<bool>& unasked = points[known[i].point].unasked;
    for (std::size_t v = 0; v < unasked.size(); ++v)
      if (unasked[v]) interpolation.fill(estimates[i], i, v);
  }
}

}  // namespace nsa::tuner
