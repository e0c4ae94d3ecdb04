// As fast as before or as slow as now? Pairs until it is certain, for a bisection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nsa::nightly {

enum class Side : std::uint8_t { unknown, good, bad };

/// Wald's sequential probability ratio test of log(candidate / good) between 0 and the step, wrong
/// in one case of a thousand each way. No pair counts for more than a third of what decides, so
/// that neither an outlier nor a large step makes a verdict of less than three pairs. One thread
/// at a time.
class SequentialTest {
 public:
  /// @param step   log(new / old level) that was found; not 0
  /// @param noise  SD of the log ratio of a pair without a step; 0 = unknown, a quarter of the step
  SequentialTest(double step, double noise);

  /// log(candidate / good) of a pair of times. ContractError where it is not finite.
  void add(double log_ratio);
  /// What the pairs so far say: certain, or unknown.
  Side side() const;
  /// By the sign of what was seen, where that is a third of certain at least.
  Side likely_side() const;
  /// Pairs that were added.
  std::size_t pairs() const noexcept { return towards_.size(); }

 private:
  double score() const;

  double step_, noise_, sign_;
  std::vector<double> towards_;  // log ratios in the direction of the step
};

}  // namespace nsa::nightly
