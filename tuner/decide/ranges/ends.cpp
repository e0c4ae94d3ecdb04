#include "ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nsa::tuner {
namespace {

constexpr std::size_t kTrendLengths = 4;  // that tell how a ratio moves
constexpr double kTie = 0.02;             // log ratio that costs little wherever it leads
const double kFurther = std::log(4.0);    // how far a movement is followed
constexpr double kSigmas = 2;
constexpr double kMostNoise = 0.05;  // log ratio that noise may hide without being a doubt

/// log(time of v / time of w) at the longest length, and how it moves with the log of the length.
struct Trend {
  double value = 0, sigma = 0;
  double slope_low = 0;  // no step fell faster, noise added
  double fall = 0;       // from the first length to the last, or surely in one step; never above 0
  double sure_fall = 0;  // the same, and surely from the first to the last as well
};

double sigma_at(const LengthRatios& point, std::size_t v, std::size_t w) {
  return std::sqrt(point.spread[v].variance + point.spread[w].variance);
}

/// The last points at which all usable variants of the longest length were known, one a length,
/// ascending.
std::vector<const LengthRatios*> last_lengths(const std::vector<LengthRatios>& points) {
  std::vector<const LengthRatios*> found;
  const LengthRatios& longest = points.back();
  for (std::size_t i = points.size(); i-- > 0 && found.size() < kTrendLengths;) {
    bool all = true;
    for (std::size_t v = 0; v < longest.usable.size(); ++v)
      all = all && (!longest.usable[v] || points[i].known[v]);
    if (all && (found.empty() || points[i].at < found.back()->at)) found.push_back(&points[i]);
  }
  std::ranges::reverse(found);
  return found;
}

/// How far ratios that surely rise in one step and surely fall in another are off the line from the
/// first to the last: full tiles and others take turns. 0: they do not.
template <class Value>
double ripple_of(const std::vector<const LengthRatios*>& lengths, const Value& value,
                 const auto& slope_of, const auto& noise_of) {
  bool rises = false, falls = false;
  const LengthRatios &first = *lengths.front(), &last = *lengths.back();
  double low = 0, high = 0;
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    const LengthRatios &a = *lengths[i - 1], &b = *lengths[i];
    rises = rises || slope_of(a, b) > noise_of(a, b);
    falls = falls || slope_of(a, b) < -noise_of(a, b);
    const double line =
        value(first) + slope_of(first, last) * (log_axis(b.at) - log_axis(first.at));
    low = std::min(low, value(b) - line);
    high = std::max(high, value(b) - line);
  }
  return rises && falls ? (high - low) / 2 : 0;
}

/// The slopes between neighbouring lengths, the noise of both added: a movement that speeds up is
/// as fast as that. What noise explains alone is not in `fall`. Where full tiles and others take
/// turns, the slope from the first length to the last, and how far they are off it is noise.
Trend trend_of(const std::vector<const LengthRatios*>& lengths, std::size_t v, std::size_t w) {
  const auto value = [&](const LengthRatios& s) { return s.excess[v] - s.excess[w]; };
  const auto slope_of = [&](const LengthRatios& a, const LengthRatios& b) {
    return (value(b) - value(a)) / (log_axis(b.at) - log_axis(a.at));
  };
  const auto noise_of = [&](const LengthRatios& a, const LengthRatios& b) {
    return kSigmas * std::hypot(sigma_at(a, v, w), sigma_at(b, v, w)) /
           (log_axis(b.at) - log_axis(a.at));
  };
  const LengthRatios &first = *lengths.front(), &last = *lengths.back();
  Trend trend{.value = value(last), .sigma = sigma_at(last, v, w), .slope_low = INFINITY};
  trend.sure_fall = std::min(0.0, slope_of(first, last) + noise_of(first, last));
  if (const double ripple = ripple_of(lengths, value, slope_of, noise_of); ripple > 0) {
    const double reach = kSigmas * ripple / (log_axis(last.at) - log_axis(first.at));
    trend.sigma = std::hypot(trend.sigma, ripple);
    trend.slope_low = slope_of(first, last) - noise_of(first, last) - reach;
    trend.sure_fall = std::min(0.0, trend.sure_fall + reach);
    trend.fall = std::min(trend.sure_fall, slope_of(first, last));
    return trend;
  }
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    const LengthRatios &a = *lengths[i - 1], &b = *lengths[i];
    trend.slope_low = std::min(trend.slope_low, slope_of(a, b) - noise_of(a, b));
    trend.sure_fall = std::min(trend.sure_fall, slope_of(a, b) + noise_of(a, b));
  }
  trend.fall = std::min(trend.sure_fall, slope_of(first, last));
  return trend;
}

/// Whether v, of the order of w, stays after it, or so near that it does not matter: their ratio
/// comes to rest, so that where it moves by no more than noise it stays where it is.
bool stays_behind(const Trend& t) {
  if (t.value + kFurther * std::min(0.0, t.slope_low) > 0) return true;
  const double tie = std::clamp(kSigmas * t.sigma, kTie, kMostNoise);
  return t.value + kFurther * t.fall > -tie;
}

/// Whether v, of the order of w, surely leads it at the longest length, or surely will.
bool surely_leads(const Trend& t) {
  return t.value + kSigmas * t.sigma < -kTie || t.value + kFurther * t.sure_fall < -kMostNoise;
}

class Extrapolation {
 public:
  Extrapolation(const Group& group, const std::vector<LengthRatios>& points)
      : group_(group), lengths_(last_lengths(points)), longest_(points.back()) {}

  bool possible() const {
    if (group_.axis == Axis::row_len || lengths_.size() < 2) return false;
    return std::ranges::all_of(rivals(),
                               [&](std::size_t v) { return group_.exponents[v].has_value(); });
  }

  /// The variant that runs at the longest length goes on.
  std::optional<Beyond> goes_on(std::size_t w) const {
    Behind behind;
    for (const std::size_t v : rivals()) {
      if (v == w) continue;
      if (order(v) < order(w)) return std::nullopt;
      const Trend trend = trend_of(lengths_, v, w);
      const bool kept = order(v) > order(w) ? trend.value > -kTie : stays_behind(trend);
      if (!kept) return std::nullopt;
      add(behind, v, trend.value);
    }
    return Beyond{latest_end(longest_.at), w,
                  behind.empty() ? "nothing else runs there" : words(w, behind)};
  }

  bool may_go_on(std::size_t w) const {
    return longest_.usable[w] && std::ranges::all_of(rivals(), [&](std::size_t v) {
             if (v == w || order(v) != order(w)) return order(v) >= order(w);
             return !surely_leads(trend_of(lengths_, v, w));
           });
  }

  /// The best of the lowest order, from where it has overtaken all of higher ones.
  std::optional<Beyond> overtakes() const {
    const std::vector<std::size_t> all = rivals();
    const std::size_t c = *std::ranges::min_element(
        all, {}, [&](std::size_t v) { return std::pair(order(v), longest_.excess[v]); });
    double ahead = 0;  // log of how much further the last of them is overtaken
    Behind behind;
    for (const std::size_t v : all) {
      if (v == c) continue;
      const Trend trend = trend_of(lengths_, v, c);
      if (order(v) == order(c)) {
        if (!stays_behind(trend)) return std::nullopt;
      } else {
        const double missing = kSigmas * trend.sigma - trend.value;
        const double slope = std::min(trend.slope_low, order(v) - order(c));
        if (missing > 0 && !(slope > 0)) return std::nullopt;
        if (missing > 0) ahead = std::max(ahead, missing / slope);
      }
      add(behind, v, trend.value);
    }
    constexpr double kFurthest = 6;  // e^6 = 400 times the longest length: no prediction
    if (ahead > kFurthest) return std::nullopt;
    const auto from =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(longest_.at) * std::exp(ahead)));
    return Beyond{std::max(from, latest_end(longest_.at)), c, words(c, behind)};
  }

 private:
  /// Variants with the logs of their ratios, one of each name: the nearest of its points.
  using Behind = std::vector<std::pair<std::size_t, double>>;

  void add(Behind& behind, std::size_t v, double value) const {
    const auto named = std::ranges::find(behind, group_.variants[v].name, [&](const auto& one) {
      return group_.variants[one.first].name;
    });
    if (named == behind.end())
      behind.emplace_back(v, value);
    else if (value < named->second)
      *named = {v, value};
  }

  std::vector<std::size_t> rivals() const {
    std::vector<std::size_t> found;
    for (std::size_t v = 0; v < longest_.usable.size(); ++v) {
      if (longest_.usable[v]) found.push_back(v);
    }
    return found;
  }
  double order(std::size_t v) const { return *group_.exponents[v]; }
  /// "of order 1, at 4096: masked of order 2 takes 5.28 times as long, ..."
  std::string words(std::size_t runs, const Behind& behind) const {
    std::string text = fmt::format("of order {:g}, at {}: ", order(runs), longest_.at);
    const char* separator = "";
    for (const auto& [v, value] : behind) {
      const std::string id = to_string(group_.variants[v]);
      text += fmt::format("{}{} of order {:g} takes {:.3g} times as long", separator,
                          id.substr(id.rfind('/') + 1), order(v), std::exp(value));
      separator = ", ";
    }
    return text;
  }

  const Group& group_;
  std::vector<const LengthRatios*> lengths_;
  const LengthRatios& longest_;
};

}  // namespace

std::int64_t earliest_start(std::int64_t shortest) { return (shortest + 1) / 2; }
std::int64_t latest_end(std::int64_t longest) { return std::max<std::int64_t>(1, 2 * longest); }

std::int64_t end_of(const Group& group, const std::vector<LengthRatios>& points, std::size_t w) {
  const LengthRatios& longest = points.back();
  const std::vector<const LengthRatios*> lengths = last_lengths(points);
  double end = std::log(2.0);  // in log lengths beyond the longest
  for (std::size_t v = 0; v < longest.usable.size(); ++v) {
    const bool lower =
        group.exponents[v] && group.exponents[w] && *group.exponents[v] < *group.exponents[w];
    if (!lower || !longest.usable[v] || lengths.size() < 2) continue;
    const auto value = [&](const LengthRatios& s) { return s.excess[v] - s.excess[w]; };
    const LengthRatios& before = **std::prev(lengths.end(), 2);
    const double step = log_axis(longest.at) - log_axis(before.at);
    const double gains = (value(before) - value(longest)) / step;  // of v for each log length
    const double declared = *group.exponents[w] - *group.exponents[v];
    end = std::min(end, std::max(0.0, value(longest)) / std::max(gains, declared / 2));
  }
  const auto last =
      static_cast<std::int64_t>(std::floor(static_cast<double>(longest.at) * std::exp(end)));
  return std::clamp(last, longest.at + 1, std::max(longest.at + 1, latest_end(longest.at)));
}

std::optional<Beyond> beyond(const Group& group, const std::vector<LengthRatios>& points,
                             std::size_t last_variant) {
  const Extrapolation extrapolation(group, points);
  if (!extrapolation.possible()) return std::nullopt;
  if (auto found = extrapolation.goes_on(last_variant)) return found;
  return extrapolation.overtakes();
}

bool may_go_on(const Group& group, const std::vector<LengthRatios>& points, std::size_t variant) {
  const Extrapolation extrapolation(group, points);
  return extrapolation.possible() && extrapolation.may_go_on(variant);
}

}  // namespace nsa::tuner
