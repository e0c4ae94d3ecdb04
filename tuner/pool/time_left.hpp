// How long a sweep still takes: what each contest is estimated to take, corrected by what the
// finished ones took.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

/// A contest takes a fixed time (its part of a worker's start, preparing, checking) and its
/// estimate times a factor: that of the last contest of the same stages, since their lengths grow,
/// else of all.
class TimeLeft {
 public:
  /// A contest is to be done; returns its number.
  std::size_t add(const Contest& contest);
  /// It took so long more.
  void spend(std::size_t number, double more_s);
  /// So much of it is done, after a process of several: the rest takes as long for its share,
  /// whatever was estimated.
  void reach(std::size_t number, double share);
  /// It is done. `measured`: here, not before a resume.
  void finish(std::size_t number, bool measured);
  /// Contests that nobody knows yet will take `share` of the time of those that were added so far.
  void expect_more(double share);
  /// Nothing before the first one of which something was measured. `outside_s`: what passed and was
  /// no contest's (planning, ending processes), of which each contest that is left takes its part.
  std::optional<double> left_s(double outside_s = 0) const;
  /// What was spent on contests.
  double spent_s() const;

 private:
  struct Entry {
    std::string stages;
    double estimated_s = 0, spent_s = 0;
    double share = 0;    // that is done
    double total_s = 0;  // by the share that is done; 0: nothing is
    bool done = false;
  };
  /// Seconds of a contest with that estimate, and per estimated second.
  struct Model {
    double fixed_s = 0, factor = 1;
  };
  Model fitted() const;
  /// Of those that were added before more was expected, and of those after them.
  struct Sums {
    double first_s = 0, more_s = 0, left_s = 0;
    double done = 0, left = 0;  // contests
  };
  Sums sums() const;

  std::vector<Entry> entries_;
  std::vector<std::size_t> measured_;  // in the order in which something of them was done
  std::size_t first_ = 0;              // contests that were added before more was expected
  double more_share_ = 0;
};

}  // namespace nsa::tuner
