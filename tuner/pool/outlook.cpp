#include "pool/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/length.hpp"

namespace nsa::tuner {
namespace {

std::string key_of(const Contest& contest) {
  return fmt::format("{} {}", fmt::join(contest.stages, "+"), shape_key(contest.problem));
}

std::string key_of(const Offer& offer) { return offer.executor + "@" + to_string(offer.id); }

std::optional<double> order_of(const Offer& offer, const Problem& problem) {
  const auto found = offer.order.find(length_axis(problem));
  return found == offer.order.end() ? std::nullopt : std::optional(found->second);
}

/// d log(time) / d log(length) between two lengths.
double local_order(double short_ns, double short_length, double long_ns, double long_length) {
  return std::log(long_ns / short_ns) / std::log(long_length / short_length);
}

}  // namespace

void Outlook::add(const Contest& contest, const std::vector<Contestant>& contestants) {
  Point point;
  double best_ns = 0;
  for (const Contestant& one : contestants) {
    if (one.control || !one.visited() || one.verification == Verification::wrong_result) continue;
    const double median_ns = one.median_ns();
    point.median_ns[key_of(one.offer)] = median_ns;
    const auto order = order_of(one.offer, contest.problem);
    if (one.out || !order || (!point.best.empty() && median_ns >= best_ns)) continue;
    best_ns = median_ns;
    point.best = key_of(one.offer);
    point.best_order = *order;
  }
  if (!point.best.empty()) series_[key_of(contest)][length_of(contest.problem)] = std::move(point);
}

std::optional<std::string> Outlook::hopeless(const Contest& contest, const Offer& offer,
                                             double give_up_ratio) const {
  const auto order = order_of(offer, contest.problem);
  const auto series = series_.find(key_of(contest));
  if (!order || series == series_.end()) return std::nullopt;
  const std::string own = key_of(offer);
  const std::int64_t length = length_of(contest.problem);
  const Lengths& lengths = series->second;
  // The two longest of the shorter lengths at which it was measured.
  Lengths::const_iterator last = lengths.end(), before = lengths.end();
  for (auto it = lengths.begin(); it != lengths.lower_bound(length); ++it) {
    if (!it->second.median_ns.contains(own)) continue;
    before = last;
    last = it;
  }
  if (last == lengths.end() || *order < last->second.best_order) return std::nullopt;
  const double own_ns = last->second.median_ns.at(own);
  const double ratio = own_ns / last->second.median_ns.at(last->second.best);
  double growth = 0;
  if (before != lengths.end()) {
    growth = local_order(before->second.median_ns.at(own), static_cast<double>(before->first),
                         own_ns, static_cast<double>(last->first));
    growth = std::clamp(growth, 0.0, *order);
  }
  const double factor = static_cast<double>(length) / static_cast<double>(last->first);
  const double least = ratio * std::pow(factor, growth - last->second.best_order);
  if (!(least > give_up_ratio)) return std::nullopt;
  return fmt::format(
      "left out: {:.3g} times slower than the best at {} tokens, and at {} still {:.3g} times by "
      "the orders of both",
      ratio, last->first, length, least);
}

}  // namespace nsa::tuner
