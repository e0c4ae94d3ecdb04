// Whether a thresholds file still holds: where it is tried, and what it loses there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/plan.hpp"
#include "nsa/tuner/refine.hpp"

namespace nsa::tuner {

/// Problems at which a file is tried, each with the variants that it names for their stages and
/// the first ones of the built-in order: near each threshold, at random lengths between those that
/// it rests on (another seed takes others), and before its first range, where the built-in order
/// runs. Random lengths are as long as a tenth of what the decision took to measure allows. No
/// place is in an undecided range, which states nothing.
/// @param traits  of the executor's variants, in the built-in order (traits_of)
/// @param inside  random lengths of each decision
std::vector<Refinement> trial_places(const ThresholdTable& table,
                                     const std::vector<VariantTraits>& traits, std::uint64_t seed,
                                     int inside);

/// What a budget that may end early is spent on first, of each contest that tries the file: 0 the
/// first one in a decided range, 1 further ones in it, 2 those beyond all decided ranges.
std::vector<int> trial_ranks(const ThresholdTable& table, const std::vector<Contest>& contests);

/// Where a length stands in a decision.
enum class TrialKind : std::uint8_t { threshold, inside, beyond };
/// The enumerator's name.
std::string_view to_string(TrialKind value) noexcept;

/// One problem that was measured again. Regret is a share of time (0.02: 2 % slower than the best),
/// by rounds other than those that chose the best, so that noise alone may bring it below 0.
struct Trial {
  TrialKind kind = TrialKind::inside;
  ProblemClass problem_class;
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  std::int64_t at = 0;                     // value of the axis
  std::string chosen, best;                // VariantId texts
  double regret = 0, low = 0, high = 0;    // with its 95 % interval
  double standard_error = 0, freedom = 1;  // Student's, of the regret
  std::string failure;                     // not empty: what is chosen gave no right result here
};

struct TrialReport {
  std::vector<Trial> trials;  // in the order of the file
  /// Mean regret with its 95 % interval, over the places inside of the file's ranges: beyond them
  /// the built-in order runs, which says nothing against the file.
  double mean = 0, low = 0, high = 0;
  double p95 = 0, worst = 0;
  std::int64_t decided = 0, failures = 0;  // places inside, and where the choice gave no result
};

/// By which of DecideInput::rows a file is judged: those of the trials, measured as held out, or
/// those that have a part in decisions.
enum class JudgedBy : std::uint8_t { held_out, measured };
/// What the file loses by these rows, where it decides: what runs in an undecided range is not its
/// choice.
TrialReport judge_table(const ThresholdTable& table, const DecideInput& input,
                        JudgedBy by = JudgedBy::held_out);

/// What a file may lose before it is called outdated, as shares of time.
struct TrialLimits {
  double mean = 0.01, worst = 0.15;
};
/// Why the file no longer holds, a line each: sure at 95 % only, for all places together. Empty: it
/// holds.
std::vector<std::string> broken_limits(const TrialReport& report, const TrialLimits& limits);

}  // namespace nsa::tuner
