// One variant in a contest, or the A/A control of one, with everything that is known of it so far.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {

/// (process, round, half): the place that visits of one pair share.
using Block = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// The median of a visit's samples.
struct TimedVisit {
  Block block;
  double ns = 0, log_ns = 0;
};

struct Contestant {
  Candidate candidate;
  Description described;
  std::string subject;  // of its job keys
  bool control = false;
  bool eligible = true;  // false: a baseline or a slow path, which is measured but never chosen
  bool out = false;      // failed: has its one row, gets no more
  bool told_given_up = false;
  bool slow = false;  // by shorter lengths: prepared in its turn, so that nobody waits for it
  std::map<std::int64_t, std::string> beaten;  // by process: why it gets no more visits there
  std::string left_out;                        // why shorter lengths keep it out; it has no row yet

  std::vector<TimedVisit> visits;                                   // in the order of blocks
  std::set<Block> noisy;                                            // visits that do not count
  double least_noisy_ns = std::numeric_limits<double>::infinity();  // median of any of these
  std::optional<double> median_of_visits;                           // asked for before each visit
  double least_ns = std::numeric_limits<double>::infinity();        // fastest sample
  bool traced = false, counted = false;                             // or cannot be
  std::optional<double> sample_s;  // wall time of one sample, flush included, as last seen

  // In the worker process that runs now.
  std::optional<std::int64_t> handle;
  worker::PreparedReply prepared;
  bool checked = false;  // in this process number
  Verification verification = Verification::unverified;
  std::optional<double> worst_row_error;

  Cost cost() const noexcept { return {described.flop, described.bytes}; }
  bool visited() const noexcept { return !visits.empty(); }
  /// Of its visits, one at least.
  double median_ns() const noexcept { return *median_of_visits; }
  /// Its visit of a block, by the row of it; the first row of a block counts. Without samples (the
  /// store leaves them out unless it is asked) the median stands for the fastest of them.
  void add_visit(const Block& block, const Measurement& row);
  /// Its visit of that block, or null.
  const TimedVisit* find_visit(const Block& block) const;
  void add_noisy(const Block& block, const Measurement& row);
};

/// The row of the table that a candidate of ours is; null for a foreign worker's.
const Variant* row_of(const Candidate& candidate, Backend backend);
/// Of two that were visited: who may be chosen comes first, then the fastest.
bool better(const Contestant& a, const Contestant& b) noexcept;
/// Whether one is the other, or its control.
bool same_variant(const Contestant& a, const Contestant& b) noexcept;
/// The control of a contest: the same variant once more (A/A), out where its original is.
Contestant control_of(const Contestant& original);

/// Least median of those that still run and may be chosen; where there are none, of the others.
/// What cannot be chosen must not end the contest of those that can, however fast it is. Nothing
/// before the first visit.
std::optional<double> best_median_ns(const std::vector<Contestant>& contestants);
/// Whether even its fastest sample is so much slower than the best that more visits would be
/// wasted. One visit is enough where a sample alone takes longer than a visit should; else it takes
/// two, so that a disturbance does not put a fast variant out. Noisy visits count where no noise
/// can explain them.
bool given_up(const Contestant& contestant, const std::vector<Contestant>& contestants,
              const MeasurePolicy& policy);
/// "given up: 9.1 times slower than the best".
std::string why_given_up(const Contestant& contestant, const std::vector<Contestant>& contestants);
inline constexpr Block kAllBlocks{std::numeric_limits<std::int64_t>::max(), 0, 0};
/// Pairs of all that still compete and may be chosen, the fastest first, for contest_decided();
/// where there are none, of the others. `before`: of the visits before that block only, so that a
/// resume ends each process where it ended.
ContestState state_of(const std::vector<Contestant>& contestants, const MeasurePolicy& policy,
                      const Block& before = kAllBlocks);
/// Why the contestant, which has just been visited, needs no more visits in this process, by all
/// that this process measured (is_clear_loser()): "beaten: 1.12 times as slow as the best". Nothing
/// where it may still win, and where the policy has no race.
std::optional<std::string> why_beaten(const Contestant& contestant,
                                      const std::vector<Contestant>& contestants,
                                      const MeasurePolicy& policy, std::int64_t process);
/// What such a text begins with.
inline constexpr std::string_view kBeaten = "beaten: ";

}  // namespace nsa::tuner
