// The rows of a sweep, small, for whoever plans the next contests by them.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nsa/tuner/sweep.hpp"

namespace nsa::tuner {

/// Id and first process of each contest.
using PlannedContests = std::set<std::pair<std::string, std::int64_t>>;

/// Keeps the rows that pass through it, each with one sample, of the medians of its own.
class KeptRows final : public Sink {
 public:
  /// Rows go on to `sink`, which is borrowed.
  explicit KeptRows(Sink& sink) : sink_(sink) {}
  bool add(const Measurement& row) override;
  void add_trace(const LaunchTraceRow& row) override { sink_.add_trace(row); }
  void add_counters(const LaunchCountersRow& row) override { sink_.add_counters(row); }
  void add_agreement(const AgreementRow& row) override { sink_.add_agreement(row); }

  /// Rows from before, which the sink has.
  void keep_all(const std::vector<Measurement>& rows);
  /// Rows of those contests, of `processes` worker processes each, in the order in which they came.
  std::vector<Measurement> rows_of(const PlannedContests& contests, std::int64_t processes) const;

 private:
  struct Kept {
    std::string contest;
    Measurement row;
  };
  void keep(const Measurement& row);

  Sink& sink_;
  std::vector<Kept> kept_;
};

}  // namespace nsa::tuner
