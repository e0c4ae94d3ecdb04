#include "pool/time_left.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nsa::tuner {

std::size_t TimeLeft::add(const Contest& contest) {
  entries_.push_back({fmt::format("{}", fmt::join(contest.stages, "+")), contest.estimated_s});
  return entries_.size() - 1;
}

void TimeLeft::spend(std::size_t number, double more_s) { entries_.at(number).spent_s += more_s; }

void TimeLeft::reach(std::size_t number, double share) {
  Entry& entry = entries_.at(number);
  if (entry.share == 0) measured_.push_back(number);
  entry.share = share;
  entry.total_s = entry.spent_s / share;
}

void TimeLeft::finish(std::size_t number, bool measured) {
  if (measured) reach(number, 1);
  entries_.at(number).done = true;
}

double TimeLeft::spent_s() const {
  double sum = 0;
  for (const Entry& entry : entries_) sum += entry.spent_s;
  return sum;
}

/// Least squares of seconds over estimates, neither part below zero.
TimeLeft::Model TimeLeft::fitted() const {
  double n = 0, e = 0, t = 0, ee = 0, et = 0;
  for (const std::size_t i : measured_) {
    const Entry& entry = entries_[i];
    n += 1;
    e += entry.estimated_s;
    t += entry.total_s;
    ee += entry.estimated_s * entry.estimated_s;
    et += entry.estimated_s * entry.total_s;
  }
  if (e <= 0) return {t / n, 0};
  const double spread = n * ee - e * e;
  const double factor = spread > 1e-9 * ee ? (n * et - e * t) / spread : 0;
  const double fixed_s = (t - factor * e) / n;
  if (factor <= 0 || fixed_s < 0) return {0, t / e};
  return {fixed_s, factor};
}

void TimeLeft::expect_more(double share) {
  first_ = entries_.size();
  more_share_ = share;
}

TimeLeft::Sums TimeLeft::sums() const {
  const Model model = fitted();
  std::map<std::string, double> factors;  // of the last contest of each stage
  for (const std::size_t i : measured_) {
    const Entry& entry = entries_[i];
    if (entry.estimated_s > 0)
      factors[entry.stages] = std::max(0.0, entry.total_s - model.fixed_s) / entry.estimated_s;
  }
  Sums sums;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    double left_s = 0;
    if (!entry.done) {
      const auto own = factors.find(entry.stages);
      const double factor = own == factors.end() ? model.factor : own->second;
      const double total_s =
          entry.share > 0 ? entry.total_s : model.fixed_s + factor * entry.estimated_s;
      left_s = std::max(0.0, total_s - entry.spent_s);
      sums.left += 1 - entry.share;
    }
    sums.done += entry.share;
    sums.left_s += left_s;
    (i < first_ ? sums.first_s : sums.more_s) += entry.spent_s + left_s;
  }
  return sums;
}

std::optional<double> TimeLeft::left_s(double outside_s) const {
  if (measured_.empty()) return std::nullopt;
  const Sums all = sums();
  const auto first = static_cast<double>(first_),
             more = static_cast<double>(entries_.size()) - first;
  const double contests = all.left + std::max(0.0, more_share_ * first - more);
  return all.left_s + std::max(0.0, more_share_ * all.first_s - all.more_s) +
         std::max(0.0, outside_s) * contests / all.done;
}

}  // namespace nsa::tuner
