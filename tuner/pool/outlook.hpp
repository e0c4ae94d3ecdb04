// Whether a variant can still win at a length, by what shorter lengths have shown of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/tuner/decide.hpp"
#include "pool/contestant.hpp"

namespace nsa::tuner {

/// How the reason of a row begins that has no time because the variant was left out so.
inline constexpr std::string_view kLeftOut = "left out: ";

/// Preparing and verifying a variant costs more than the visits after which it is given up, so one
/// that cannot come back is not prepared at longer lengths. What can still change is bounded from
/// both sides: the best of the nearest length grows by its declared order at most, and the other by
/// what it was seen to grow over a factor of four in length at least (while launches dominate it
/// does not grow at all; of what takes milliseconds a second length is measured first, where that
/// is cheap). Its fastest sample counts, against the median of the best. Where an order
/// is not declared, as for whole models, the change of their ratio so far takes its place.
/// Paths of the users compete with one another, too: their programs have no other rows, so that the
/// best two stay at the lengths of a spec while neither is hopeless against the other, nor far
/// behind it where they would be measured.
class Outlook {
 public:
  /// `variants`: what the users' switches call them.
  explicit Outlook(std::vector<VariantTraits> variants = {}) : variants_(std::move(variants)) {}
  /// Takes in what a contest measured.
  void add(const Contest& contest, const std::vector<Contestant>& contestants);
  /// Why the candidate cannot come within `give_up_ratio` of the best of this contest; nothing
  /// where it may, or where nobody knows.
  std::optional<std::string> hopeless(const Contest& contest, const Candidate& candidate,
                                      double give_up_ratio) const;
  /// Whether a launch of the candidate may take long, by what shorter lengths took; not where
  /// nobody knows.
  bool is_slow(const Contest& contest, const Candidate& candidate) const;
  /// Whether the users' programs need its time: it is the fastest row of one of their best two
  /// paths, and may come within `give_up_ratio` of the best one.
  bool rivals(const Contest& contest, const Candidate& candidate, double give_up_ratio) const;

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
  using Lengths = std::map<std::int64_t, Point>;
  using Series = std::map<std::string, Lengths>;  // by stages, class and batch

  std::vector<const Contestant*> fastest_of_paths(const std::vector<Contestant>& contestants) const;
  static void add(Series& series, const Contest& contest,
                  const std::vector<const Contestant*>& contestants);
  static std::optional<History> history_of(const Series& series, const Contest& contest,
                                           const Candidate& candidate);
  /// How many times slower than the best of a history it is at least; nothing: nobody knows.
  static std::optional<double> least_ratio(const History& history, const Contest& contest,
                                           const Candidate& candidate);
  static bool is_lesson(const History& history, std::int64_t length);
  static double closes_in(const History& history, std::optional<double> order);
  static std::optional<double> least_by_orders(const History& history, const Problem& problem,
                                               std::optional<double> order);
  static std::optional<double> least_by_trend(const History& history, std::int64_t length);

  std::vector<VariantTraits> variants_;
  Series all_, users_;  // of all rows; of the fastest of each path that the users have
};

}  // namespace nsa::tuner
