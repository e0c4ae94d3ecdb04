#include "pool/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "plan/length.hpp"

namespace nsa::tuner {
namespace {

/// As decisions are keyed, so that a width which the stages do not have tells nothing apart.
std::string key_of(const Contest& contest) {
  return fmt::format("{} {} batch {}", fmt::join(contest.stages, "+"),
                     to_string(class_of(contest.problem)), contest.problem.batch());
}

std::string key_of(const Candidate& candidate) {
  return candidate.executor + "@" + to_string(candidate.id);
}

std::optional<double> order_of(const Candidate& candidate, const Problem& problem) {
  const auto found = candidate.order.find(length_axis(problem));
  return found == candidate.order.end() ? std::nullopt : std::optional(found->second);
}

/// The most that time grows by between two lengths: its declared order, and one more until selected
/// blocks and the window are full, since each token has more to do until then.
double most_growth(const Problem& problem, double order, std::int64_t from, std::int64_t to) {
  const Geometry& g = problem.geometry;
  const std::int64_t full = std::clamp(std::max(g.window, g.sel_count * g.sel_block), from, to);
  const auto factor = [from](std::int64_t length) {
    return static_cast<double>(length) / static_cast<double>(from);
  };
  return std::pow(factor(to), order) * factor(full);
}

}  // namespace

void Outlook::add(const Contest& contest, const std::vector<Contestant>& contestants) {
  Point point;
  for (const Contestant& one : contestants) {
    if (one.control || !one.visited() || one.verification == Verification::wrong_result) continue;
    point.least_ns[key_of(one.candidate)] = one.least_ns;
    const auto order = order_of(one.candidate, contest.problem);
    if (one.out || !order || (point.best_ns > 0 && one.median_ns() >= point.best_ns)) continue;
    point.best_ns = one.median_ns();
    point.best_order = *order;
  }
  if (point.best_ns > 0)
    series_[key_of(contest)].insert_or_assign(length_of(contest.problem), std::move(point));
}

std::optional<std::string> Outlook::hopeless(const Contest& contest, const Candidate& candidate,
                                             double give_up_ratio) const {
  constexpr double kLever = 4;  // over less the noise of two times is taken for growth
  const auto order = order_of(candidate, contest.problem);
  const auto series = series_.find(key_of(contest));
  if (!order || series == series_.end()) return std::nullopt;
  const std::string own = key_of(candidate);
  const std::int64_t length = length_of(contest.problem);
  const auto begin = series->second.begin(), end = series->second.lower_bound(length);
  const auto has_own = [&](const auto& entry) { return entry.second.least_ns.contains(own); };
  const auto last =
      std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), has_own);
  if (last == std::make_reverse_iterator(begin)) return std::nullopt;
  const auto& [last_length, point] = *last;
  const auto& [best_length, nearest] = *std::prev(end);
  if (*order < nearest.best_order) return std::nullopt;
  const double own_ns = point.least_ns.at(own);
  double growth = 0;
  const auto before = std::find_if(last, std::make_reverse_iterator(begin), [&](const auto& entry) {
    return has_own(entry) &&
           kLever * static_cast<double>(entry.first) <= static_cast<double>(last_length);
  });
  if (before != std::make_reverse_iterator(begin)) {
    growth = std::log(own_ns / before->second.least_ns.at(own)) /
             std::log(static_cast<double>(last_length) / static_cast<double>(before->first));
    growth = std::clamp(growth, 0.0, *order);
  }
  const double factor = static_cast<double>(length) / static_cast<double>(last_length);
  const double most_of_best =
      nearest.best_ns * most_growth(contest.problem, nearest.best_order, best_length, length);
  const double least = own_ns * std::pow(factor, growth) / most_of_best;
  if (!(least > give_up_ratio)) return std::nullopt;
  return fmt::format(
      "left out: {:.3g} times slower than the best at {} tokens, and at {} still {:.3g} times by "
      "the orders of both",
      own_ns / point.best_ns, last_length, length, least);
}

}  // namespace nsa::tuner
