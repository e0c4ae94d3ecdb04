// From series to states and changes: pure, without random numbers, in one order of output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::nightly {

/// Which way of a value is better.
enum class Better : std::uint8_t { lower, higher, both };  // both: every change is a regression

enum class State : std::uint8_t {
  ok,
  suspect,    // the last night lies outside of what the nights before predict
  confirmed,  // a regression that the change points or a confirmation found
  cleared,    // suspect, and measured against the old build: no change
  improvement,
  environment,  // moved with its machine: driver, clocks, most series of the device, the canary
  clock,        // time moved and cycles did not
  drift,        // many small steps in one direction
  spike,        // one night alone
  warming_up,   // too few nights to judge
  missing,      // had values before, and none in the last night
  fresh,        // its first night is the last one: printed as `new`
  removed,      // none in as many nights as `warming_up` asks for
  failed,       // tried and failed in the last night
  acked,        // a regression that somebody answered for
};

/// A step between two levels.
struct Change {
  std::int64_t index = 0;  // Night::index with which the new level begins
  std::string time;
  bool up = false;                     // of the value
  std::optional<double> ratio, delta;  // new / old level on a log scale, new - old on a linear
  std::pair<double, double> interval{0, 0};  // 95 %, of the ratio or delta
  double p = 1, q = 1;  // corrected for the choice of the split; for the family of the night
  std::string first_commit, last_commit;  // the change lies in (first, last]; empty = unknown
  bool environment = false;               // begins with an epoch
  bool reverted = false;                  // a later change took it back
  bool acked = false;
  std::string answer;  // of the ack: its reason, and its date where it has one
  std::string group;   // alerts of one group are one alert
};

/// What is said of a series.
struct Verdict {
  std::string name;
  State state = State::ok;
  bool regression = false;  // makes the exit code 1
  std::vector<Change> changes;
  std::int64_t nights = 0;          // with values, of its last epoch
  std::int64_t missing_nights = 0;  // to the first verdict, while warming up
  std::string reason;               // one line, for people
};

/// An answer to known changes.
struct Ack {
  std::string series;                     // glob of names
  std::string first_commit, last_commit;  // its range; empty = any
  std::string reason;
  std::string until;  // a date; from then on it counts no more
};

/// `*`, `?` and `[...]` as shells know them, where `*` also crosses slashes, or the name itself. A
/// variant's coordinates may be spelled as before ("fused_query.bq64" for "fused_query.bq=64").
bool matches_glob(const std::string& glob, const std::string& name);

/// Paired times of an old and a new build, interleaved.
struct Confirmation {
  std::string series;
  std::vector<std::pair<double, double>> old_and_new;
  std::string failure = {};  // why there are too few pairs; then the series keeps its state
};

struct Options {
  Better better = Better::lower;
  std::int64_t window = 14;  // nights: changes that began earlier are listed and red no more
  std::int64_t warm_up = 7;  // nights before the first verdict
  double alpha = 1e-3;       // of a change point
  double false_discovery = 0.05;
  double least_change = 0.01;  // of the level
  std::vector<Ack> acks;
  std::vector<Confirmation> confirmations;
  std::string today;  // against which `until` is compared; empty = the last night's time
  bool fail_on_missing = false;
  int threads = 1;  // of no influence on a byte of the output
};

struct Report {
  int exit_code = 0;  // 0 good, 1 regression, 3 nothing judged, 4 missing and `fail_on_missing`
  std::vector<Verdict> series;  // in the order of the input
};

/// @param series  names unique; nights ascending in time
/// @throws ContractError  a name twice, or options out of their ranges
Report judge(const std::vector<Series>& series, const Options& options);

}  // namespace nsa::nightly
