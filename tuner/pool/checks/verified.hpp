// What was verified in a run: a variant is checked once for each kind of problem, not each length.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "nsa/schemas/measurement.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

/// Problems on which one check of a variant stands for all: of the same class, whose longest
/// sequence (with its context) is a multiple of kTile or is not, and lies in the same bucket of
/// lengths, a factor of 16 wide, so that what fails for long sequences only is seen as well.
std::string verification_kind(const Problem& problem);

class Verified {
 public:
  /// Names a variant on problems of one kind: one check stands for all that have this name.
  static std::string key(const Candidate& candidate, const Problem& problem);
  /// What an earlier row of this run says.
  void restore(const Measurement& row);
  /// A variant was right on a problem; the relative error of its worst row.
  void add(const Candidate& candidate, const Problem& problem,
           std::optional<double> worst_row_error);
  /// It was wrong, and is out on all problems of the class from now on.
  void add_wrong(const Candidate& candidate, const Problem& problem, const std::string& reason);

  struct Right {
    std::optional<double> worst_row_error;
  };
  /// Whether the blocks that a row of reduced precision selects were compared with those of fp64 on
  /// a problem of that kind.
  bool compared(const Candidate& candidate, const Problem& problem) const;
  void add_compared(const Candidate& candidate, const Problem& problem);

  /// Null where it has to be checked.
  const Right* find(const Candidate& candidate, const Problem& problem) const;
  struct Wrong {
    std::int64_t tokens = 0;  // where it was seen, those in the cache included
    std::string reason;
  };
  /// Why it is out on problems of that class, or null.
  const Wrong* find_wrong(const Candidate& candidate, const Problem& problem) const;

 private:
  std::map<std::string, Right> right_;
  std::map<std::string, Wrong> wrong_;
  std::set<std::string> compared_;
};

}  // namespace nsa::tuner
