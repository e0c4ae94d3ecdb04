// Rows of the same variant on the same problem taken together, and compared with the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/reports/tables.hpp"

namespace nsa::reports {

/// Time against the best of the contest.
struct Ratio {
  double median = 1;
  std::optional<double> low, high;  // 95 %; nothing for a single block
};

struct Result {
  const Measurement* first = nullptr;  // problem, stages, executor and variant are those of it
  Outcome outcome = Outcome::ok;       // ok when any row is ok
  Verification verification = Verification::unverified;  // the worst of its rows
  std::string reason;                                    // of the first row that failed
  std::string note;                                      // the first that a row has
  std::string role;                                      // see RoleOf
  std::optional<double> median_ns, mad_ns;
  std::int64_t samples_n = 0;
  std::optional<Ratio> ratio;
  bool best = false;    // of its contest, among verified candidates
  bool chosen = false;  // see ChosenOf
};

/// In the order in which they are printed: class, stage, problem, time.
std::vector<Result> summarise(const std::vector<Measurement>& rows, const RoleOf& role,
                              const ChosenOf& chosen);

}  // namespace nsa::reports
