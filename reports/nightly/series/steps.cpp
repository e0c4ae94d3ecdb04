#include "steps.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "null_table.hpp"
#include "partition.hpp"
#include "split.hpp"

namespace nsa::nightly {
namespace {

constexpr double kLeastCertain = 0.005;  // of the level: below it nobody cares
constexpr int kMoves = 3;                // rounds in which steps look for their best place

/// Steps and the two ends of `data`, between which each is judged.
class Segmentation {
 public:
  Segmentation(std::span<const double> data, const StepRule& rule)
      : data_(data), rule_(rule), bounds_{0, data.size()} {
    split(0, data.size());
    std::sort(bounds_.begin(), bounds_.end());
  }

  std::vector<Step> steps() {
    for (int moves = 0; moves < kMoves;) {
      found_.clear();
      bool moved = false;
      for (std::size_t i = 1; i + 1 < bounds_.size(); ++i) moved |= judge(i);
      if (drop_weakest() || drop_smallest()) continue;
      if (!moved) break;
      ++moves;
    }
    return std::move(found_);
  }

 private:
  std::span<const double> between(std::size_t begin, std::size_t end) const {
    return data_.subspan(begin, end - begin);
  }

  /// That nights without a change have this split.
  double chance_of(const Split& split, std::size_t nights) const {
    const auto side = static_cast<double>(std::min(split.at, nights - split.at));
    const double spikes = static_cast<double>(nights) * std::pow(rule_.spike_share, side);
    double p = chance_of_split(nights, split.t);
    if (nights < data_.size() && rule_.noise > 0) {
      const double t = split.t * std::min(1.0, split.sd / rule_.noise);
      p = std::min(p, chance_of_split(data_.size(), t));
    }
    return std::min(1.0, p + spikes);
  }

  void split(std::size_t begin, std::size_t end) {
    const Split best = best_split(between(begin, end), rule_.least_sd);
    if (best.at == 0 || chance_of(best, end - begin) >= rule_.alpha) {
      split_in_many(begin, end);
      return;
    }
    const std::size_t at = begin + best.at;
    bounds_.push_back(at);
    split(begin, at);
    split(at, end);
  }

  /// Levels that rise and fall again hide from every single split.
  void split_in_many(std::size_t begin, std::size_t end) {
    const auto steps = best_partition(between(begin, end), rule_.noise, rule_.alpha);
    if (steps.size() < 2) return;
    std::size_t from = begin;
    for (const std::size_t step : steps) {
      bounds_.push_back(begin + step);
      split(from, begin + step);
      from = begin + step;
    }
    split(from, end);
  }

  /// Puts bound i at its best place between its neighbours; true where that is another one.
  bool judge(std::size_t i) {
    const std::size_t begin = bounds_[i - 1], end = bounds_[i + 1];
    const Split best = best_split(between(begin, end), rule_.least_sd);
    if (best.at == 0) {
      found_.push_back({bounds_[i], 0, 0, {0, 0}, 1});
      return false;
    }
    const bool moved = bounds_[i] != begin + best.at;
    bounds_[i] = begin + best.at;
    const boost::math::students_t student(static_cast<double>(end - begin - 2));
    const double reach = quantile(student, 0.975) * best.error;
    const double change = best.new_level - best.old_level;
    found_.push_back({bounds_[i],
                      best.old_level,
                      best.new_level,
                      {change - reach, change + reach},
                      chance_of(best, end - begin)});
    return moved;
  }

  void drop(std::vector<Step>::const_iterator step) {
    bounds_.erase(bounds_.begin() + 1 + (step - found_.cbegin()));
  }

  bool drop_weakest() {
    const auto weakest = std::max_element(found_.cbegin(), found_.cend(),
                                          [](const Step& a, const Step& b) { return a.p < b.p; });
    if (weakest == found_.cend() || weakest->p < rule_.alpha) return false;
    drop(weakest);
    return true;
  }

  bool drop_smallest() {
    const auto size = [](const Step& s) { return std::abs(s.new_level - s.old_level); };
    auto smallest = found_.cend();
    for (auto step = found_.cbegin(); step != found_.cend(); ++step)
      if (!matters(*step, rule_) && (smallest == found_.cend() || size(*step) < size(*smallest)))
        smallest = step;
    if (smallest == found_.cend()) return false;
    drop(smallest);
    return true;
  }

  std::span<const double> data_;
  const StepRule& rule_;
  std::vector<std::size_t> bounds_;  // 0, the steps, size
  std::vector<Step> found_;          // of bounds 1 to the last but one
};

}  // namespace

bool as_large_as(double difference, double old_level, double share, bool log_scale) {
  // A step of exactly `share` is as large, whatever its last bits.
  const double least = (log_scale ? std::log1p(share) : share * std::abs(old_level)) * (1 - 1e-9);
  return difference != 0 && std::abs(difference) >= least;
}

bool matters(const Step& step, const StepRule& rule) {
  const auto [low, high] = step.interval;
  const double certain = low > 0 ? low : high < 0 ? high : 0;
  const auto large = [&](double x, double share) {
    return as_large_as(x, step.old_level, share, rule.log_scale);
  };
  return large(step.new_level - step.old_level, rule.least_change) && large(certain, kLeastCertain);
}

std::vector<Step> find_steps(std::span<const double> data, const StepRule& rule) {
  return Segmentation(data, rule).steps();
}

}  // namespace nsa::nightly
