// Making rows: what is the same in all rows of a sweep, and the statistics of one visit.
#pragma once

#include <optional>
#include <string>

#include "nsa/tuner/sweep.hpp"

namespace nsa::tuner {

/// Where a visit stands in the interleaved order.
struct Visit {
  std::int64_t process = 0, round = 0, position = 0;
  std::int64_t half = 0;  // of the round: 0 on the way there (A B), 1 on the way back (B A)
};

/// Makes rows for one sweep and hands them to the sink at once.
class RowWriter {
 public:
  RowWriter(const SweepInput& input, Sink& sink, SweepReport& report);

  /// A row with everything that all rows share; the caller fills the rest.
  Measurement blank(const Problem& problem, const Candidate& candidate, const Cost& cost) const;
  /// Commits a row, with its time of day.
  void commit(Measurement row);
  /// Keeps a row until flush(): a GPU need not wait for the database, since the next request is on
  /// its way by then. On a CPU the row is committed at once, because that would be in the way of
  /// what is measured.
  void commit_soon(Measurement row);
  /// Belongs to no account: whoever waits for it says which.
  void flush();
  /// What a launch of a variant does.
  void commit(const Problem& problem, const Candidate& candidate, LaunchTrace trace,
              LaunchMode launch);
  /// What the hardware counts during one, or `outcome` and `reason` why it was not read.
  void commit(const Problem& problem, const Candidate& candidate, LaunchCounters counters,
              Outcome outcome, const std::string& reason, LaunchMode launch);
  /// How far a selection of reduced precision is the exact one.
  void commit(const Problem& problem, const Candidate& candidate, const Agreement& agreement);
  /// The one row of a variant that cannot be measured on a problem.
  void commit_failure(Measurement row, const Candidate& candidate, Outcome outcome,
                      const std::string& reason);

 private:
  void put(Measurement row);
  template <class Row>
  Row row_of(const Problem& problem, const Candidate& candidate) const;

  const SweepInput& input_;
  Sink& sink_;
  SweepReport& report_;
  Timer timer_;
  std::optional<Measurement> waiting_;
};

/// Takes the samples of a reply into a row: n, median and spread of device_ns, clocks, need, and
/// what the worker says of them as the row's note. There is one sample at least.
void take_samples(Measurement& row, worker::MeasuredReply reply);
/// What the samples of one request are held against.
struct Believable {
  double least_ns = 0;           // that any hardware needs for the mathematics
  std::optional<double> wall_s;  // that the request took by our clock; nothing: theirs is virtual
  Backend backend = Backend::cpu;
};
/// What is wrong with the numbers of a reply, or nothing.
std::optional<std::string> find_lie(const worker::MeasuredReply& reply, std::int64_t asked,
                                    const Believable& believable);

}  // namespace nsa::tuner
