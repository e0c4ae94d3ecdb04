// From measurements to thresholds: pure functions, seeded, no clock, no I/O.
// Method: docs/method.md (interleaved pairs, paired log ratios, least regret).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/observations.hpp"

namespace nsa::tuner {

/// What decide() has to know of a variant beside its measurements.
struct VariantTraits {
  VariantId id;
  bool eligible = true;   // false: baseline or slow path, measured but never chosen
  bool baseline = false;  // dense attention: gives the break-even length
  SwitchTarget path = SwitchTarget::none;  // what the users' switches call it
  std::optional<WorkOrder> order = {};     // how its work grows, as far as it is declared
  Direction direction = Direction::forward;
};

/// The traits of our own variants on a back end, in the built-in order of their stages, those of
/// backward passes after the others.
std::vector<VariantTraits> catalog_traits(Backend backend);

/// Those of an executor: of ours the catalog's, of another one by the orders that it declares.
std::vector<VariantTraits> traits_of(const std::string& executor, Backend backend,
                                     const std::map<VariantId, worker::Orders>& declared);

/// An entry of a workload.
struct UseOfLength {
  std::int64_t tokens = 0;  // of a sequence: new ones in prefill, cached ones in decode
  double weight = 0;
  std::optional<Phase> phase = {};  // nothing: of both
};

struct DecideOptions {
  std::string executor = "nsatune";
  double margin = 1.0;        // a challenger must be that many times faster than the incumbent
  double epsilon = 0.003;     // ratios within it are ties
  double max_regret = 0.001;  // that the fewest ranges may cost, as a share of time
  /// A range that may lose more than this, or whose ratio to the runner-up is not known to this
  /// (a log ratio) and may be on either side of 1, is undecided.
  double max_doubt = 0.05;
  bool unverified = false;  // let unverified rows count (tune --unverified)
  std::uint64_t seed = 1;   // of the replicates
  int bootstrap = 1000;     // how many replicates
  std::string created_by;
  /// How often lengths are used; each entry counts for the measured length nearest to it on a log
  /// axis. Empty = every measured length counts the same.
  std::vector<UseOfLength> workload;
};

struct DecideInput {
  Device device;
  Validators validators;
  Observations rows;                      // of one model of device
  std::vector<VariantTraits> variants;    // rows of other variants are foreign and eligible
  std::optional<ThresholdTable> shipped;  // for hysteresis
  bool complete = true;
  DecideOptions options;
};

/// A table, and what is to be said of it.
struct DecideReport {
  ThresholdTable table;
  /// What was left out and why, for the terminal: "wrong_result: attend_selected/x (3 rows)".
  std::vector<std::string> notes;
  std::int64_t decided = 0;    // ranges that rest on what was measured
  std::int64_t undecided = 0;  // ranges where what was there is left there
  std::int64_t compared = 0;   // ranges that two boards or more measured
  std::int64_t disputed = 0;   // those of them in which a board would run another variant
};
/// The thresholds of one executor on one device. ContractError for options that make no sense: a
/// margin below 1, no replicates.
DecideReport decide(const DecideInput& input);

/// One length of a contest: paired log ratios against a common reference, by block.
struct PairedRatio {
  double median = 0;         // of log(time / reference time)
  double low = 0, high = 0;  // bootstrap interval over (process, round) blocks
  std::int64_t pairs = 0;
};
/// Interval of the median log ratio of paired samples; blocks[i] belongs to ratios[i].
PairedRatio paired_ratio(const std::vector<double>& log_ratios,
                         const std::vector<std::int64_t>& blocks, double confidence, int bootstrap,
                         std::uint64_t seed);

/// The variants that still compete in a contest, as the pool makes it after each round.
struct ContestState {
  std::vector<std::vector<double>> log_ratios;    // [variant][pair] against the first variant
  std::vector<std::vector<std::int64_t>> blocks;  // [variant][pair]: its (process, round)
};
/// Whether no further round is needed: the interval of each variant against the best excludes
/// +-epsilon or lies within it. A single block decides beyond a factor of two only, and no pair
/// with the best decides nothing.
bool contest_decided(const ContestState& state, double epsilon, std::uint64_t seed);
/// Whether no further pair can save a variant (its place in `state`), of the pairs of one process:
/// slower than the best in every pair, by 15 % in three pairs at least, or by 3 % in four where
/// their mean is beyond that by four standard errors, of the spread of all pairs and of .3 % at
/// least. A pair that was disturbed saves the others, not its variant: all have to be slower.
bool is_clear_loser(const ContestState& state, std::size_t variant);

/// What a table decides for the stages of a class, or nullptr.
const Decision* find_decision(const ThresholdTable& table, const ProblemClass& problem_class,
                              const std::vector<std::string>& stages);

/// The range that holds an axis value, or nullptr where nothing is decided.
const ThresholdRange* range_at(const Decision& decision, std::int64_t at);

/// What changed from one table to another, a line each (tune --against).
std::vector<std::string> compare_tables(const ThresholdTable& before, const ThresholdTable& after);

}  // namespace nsa::tuner
