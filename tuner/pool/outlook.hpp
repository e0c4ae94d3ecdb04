// Whether a variant can still win at a length, by what shorter lengths have shown of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pool/contestant.hpp"

namespace nsa::tuner {

/// Preparing and verifying a variant costs more than the visits after which it is given up, so one
/// that cannot come back is not prepared at longer lengths. What can still change is bounded from
/// both sides: the best of the nearest length grows by its declared order at most, and the other by
/// what it was seen to grow over a factor of four in length at least (while launches dominate it
/// does not grow at all). Its fastest sample counts, against the median of the best. Where an order
/// is not declared, as for whole models, the change of their ratio so far takes its place.
class Outlook {
 public:
  /// Takes in what a contest measured.
  void add(const Contest& contest, const std::vector<Contestant>& contestants);
  /// Why the candidate cannot come within `give_up_ratio` of the best of this contest; nothing
  /// where it may, or where nobody knows.
  std::optional<std::string> hopeless(const Contest& contest, const Candidate& candidate,
                                      double give_up_ratio) const;

 private:
  struct Point {
    std::map<std::string, double> least_ns;  // by variant
    double best_ns = 0;                      // median of the best
    std::optional<double> best_order;
  };
  struct Seen {
    std::int64_t length;
    const Point* point;
    double own_ns = 0;
  };
  struct History {
    Seen nearest;                // below the contest's length
    std::optional<Seen> last;    // at which the variant ran
    std::optional<Seen> before;  // the same, a factor of four away
  };
  std::optional<History> history_of(const Contest& contest, const Candidate& candidate) const;
  static std::optional<double> least_by_orders(const History& history, const Problem& problem,
                                               std::optional<double> order);
  static std::optional<double> least_by_trend(const History& history, std::int64_t length);

  using Lengths = std::map<std::int64_t, Point>;

  std::map<std::string, Lengths> series_;  // by stages, class and batch
};

}  // namespace nsa::tuner
