// What a thresholds file loses where it was tried.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "decide/ranges/held_out.hpp"
#include "decide/ratios/statistics.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/verify_table.hpp"

namespace nsa::tuner {
namespace {

constexpr double kTail = 0.025;
constexpr double kNear = 1.25;  // factor about a threshold that counts as near it

TrialKind kind_of(const Decision& decision, std::int64_t at) {
  if (!range_at(decision, at)) return TrialKind::beyond;
  for (const ThresholdRange& range : decision.ranges) {
    const double apart = std::abs(std::log(
        static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(1, range.from))));
    if (&range != &decision.ranges.front() && apart <= std::log(kNear)) return TrialKind::threshold;
  }
  return TrialKind::inside;
}

/// Spread of the ratio behind a regret. The best variant is the reference of all, with a spread of
/// 0: where it was chosen and other rounds saw another one ahead, that of its nearest rival.
const Spread& spread_of_regret(const LengthRatios& point, std::size_t chosen, double regret) {
  std::size_t rival = chosen;
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    if (!point.usable[v] || v == chosen) continue;
    if (rival == chosen || point.excess[v] < point.excess[rival]) rival = v;
  }
  const bool of_rival = regret != 0 && point.spread[chosen].variance == 0;
  return point.spread[of_rival ? rival : chosen];
}

void set_interval(Trial& trial, const LengthRatios& point, std::size_t chosen) {
  trial.regret = regret_of(point, chosen);
  const Spread& spread = spread_of_regret(point, chosen, trial.regret);
  trial.standard_error = std::sqrt(spread.variance);
  trial.freedom = std::max(1.0, spread.freedom);
  const double half = student_quantile(kTail, trial.freedom) * trial.standard_error;
  trial.low = trial.regret - half;
  trial.high = trial.regret + half;
}

std::size_t best_of(const LengthRatios& point) {
  std::size_t best = point.usable.size();
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    if (point.usable[v] && (best == point.usable.size() || point.excess[v] < point.excess[best]))
      best = v;
  }
  return best;
}

bool offers(const std::vector<VariantTraits>& variants, const VariantId& id) {
  return std::ranges::any_of(variants, [&](const VariantTraits& one) { return one.id == id; });
}

/// The length lies between those that the range rests on. Elsewhere it may not support all lengths:
/// nobody saw where it begins to.
bool rests_around(const ThresholdRange& range, std::int64_t at) {
  const Evidence& evidence = range.evidence;
  return evidence.measured_from.value_or(at) <= at && at <= evidence.measured_to.value_or(at);
}

/// Why what a range chooses gave no right result at a place; "" where nothing says so.
std::string failure_of(const ThresholdRange& range, std::int64_t at, const Rows& rows) {
  for (const Observation* row : rows) {
    if (*row->variant != range.variant || row->control) continue;
    if (row->verification == Verification::wrong_result) return "wrong result";
    if (row->outcome == Outcome::ok || row->outcome == Outcome::noisy) continue;
    if (row->outcome == Outcome::unsupported && !rests_around(range, at)) continue;
    return std::string(to_string(row->outcome));
  }
  return "";
}

/// Nothing where what runs there was not measured, as in a sweep that was stopped.
/// @param offered  what there is to be measured; null: the rows may come from anywhere
std::optional<Trial> trial_of(const Group& group, const Decision& decision,
                              const LengthRatios& point, const Rows& rows,
                              const std::vector<VariantTraits>* offered) {
  Trial trial;
  trial.kind = kind_of(decision, point.at);
  trial.problem_class = group.problem_class;
  trial.stages = group.stages;
  trial.axis = decision.axis;
  trial.at = point.at;
  if (const auto chosen = runs_at(group, decision, point)) {
    trial.chosen = to_string(group.variants[*chosen]);
    trial.best = to_string(group.variants[best_of(point)]);
    set_interval(trial, point, *chosen);
    return trial;
  }
  const ThresholdRange* range = range_at(decision, point.at);
  if (!range) return std::nullopt;
  trial.failure = failure_of(*range, point.at, rows);
  if (trial.failure.empty() && offered && !offers(*offered, range->variant))
    trial.failure = "not offered any more";
  if (trial.failure.empty()) return std::nullopt;
  trial.chosen = to_string(range->variant);
  trial.best = to_string(group.variants[best_of(point)]);
  return trial;
}

/// Over what the file decides. The places were chosen, and what is not known of their mean is the
/// noise of the times.
void sum_up(TrialReport& report) {
  std::vector<double> regrets;
  double variance = 0;
  for (const Trial& trial : report.trials) {
    if (!trial.failure.empty()) ++report.failures;
    if (!trial.failure.empty() || trial.kind == TrialKind::beyond) continue;
    regrets.push_back(trial.regret);
    variance += trial.standard_error * trial.standard_error;
  }
  report.decided = std::ssize(regrets);
  if (regrets.empty()) return;
  const auto n = static_cast<double>(regrets.size());
  report.mean = std::accumulate(regrets.begin(), regrets.end(), 0.0) / n;
  report.p95 = quantile(regrets, 0.95);
  report.worst = std::ranges::max(regrets);
  const double half = boost::math::quantile(boost::math::complement(boost::math::normal(), kTail)) *
                      std::sqrt(variance) / n;
  report.low = report.mean - half;
  report.high = report.mean + half;
}

}  // namespace

std::string_view to_string(TrialKind value) noexcept {
  switch (value) {
    case TrialKind::threshold:
      return "threshold";
    case TrialKind::inside:
      return "inside";
    case TrialKind::beyond:
      return "beyond";
  }
  return "invalid";
}

TrialReport judge_table(const ThresholdTable& table, const DecideInput& input, JudgedBy by) {
  TrialReport report;
  std::vector<std::string> notes;
  DecideOptions plain = input.options;
  plain.bootstrap = 0;  // only the estimates are asked for
  const auto* offered = by == JudgedBy::held_out ? &input.variants : nullptr;
  for (const ClassRows& of_class : group_rows(input, notes)) {
    for (const Group& group : of_class.groups) {
      const Decision* decision = find_decision(table, group.problem_class, group.stages);
      if (!decision) continue;
      const std::vector<LengthPoint>& points =
          by == JudgedBy::held_out ? group.held_out : group.points;
      for (const LengthRatios& point : estimate(points, plain)) {
        const ThresholdRange* range = range_at(*decision, point.at);
        if (range && range->basis == Basis::undecided) continue;
        if (auto trial = trial_of(group, *decision, point, points[point.point].rows, offered))
          report.trials.push_back(std::move(*trial));
      }
    }
  }
  sum_up(report);
  return report;
}

namespace {

/// Below which the regret is not, corrected for the number of places (Bonferroni).
double sure_loss(const Trial& trial, std::size_t places) {
  const double tail = kTail / static_cast<double>(places);
  return trial.regret - student_quantile(tail, trial.freedom) * trial.standard_error;
}

}  // namespace

std::vector<std::string> broken_limits(const TrialReport& report, const TrialLimits& limits) {
  expects(limits.mean >= 0 && limits.worst >= 0, "limits of 0 or more");
  std::vector<std::string> lines;
  if (report.low > limits.mean)
    lines.push_back(fmt::format("it loses {:.2f} % on average [{:.2f}, {:.2f}], more than {:.2g} %",
                                100 * report.mean, 100 * report.low, 100 * report.high,
                                100 * limits.mean));
  for (const Trial& trial : report.trials) {
    const std::string where =
        fmt::format("{} at {} {}", trial.chosen, to_string(trial.axis), trial.at);
    if (!trial.failure.empty()) {
      lines.push_back(fmt::format("{}: {}", where, trial.failure));
    } else if (trial.kind != TrialKind::beyond &&
               sure_loss(trial, report.trials.size()) > limits.worst) {
      lines.push_back(fmt::format(
          "{} loses {:.1f} % [{:.1f}, {:.1f}] against {}, more than {:.3g} %", where,
          100 * trial.regret, 100 * trial.low, 100 * trial.high, trial.best, 100 * limits.worst));
    }
  }
  return lines;
}

}  // namespace nsa::tuner
