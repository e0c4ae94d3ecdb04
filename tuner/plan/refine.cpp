#include "nsa/tuner/refine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "decide/ranges/choose_assignment.hpp"
#include "decide/ranges/ends.hpp"
#include "nsa/schemas/json.hpp"
#include "plan/length.hpp"

namespace nsa::tuner {
namespace {

constexpr double kFinest = 0.01;        // of a length: bisection ends there
constexpr std::int64_t kTile = 128;     // lengths that fill every tile of a kernel
constexpr std::int64_t kSmallTile = 8;  // of the smallest ones
constexpr double kWorthIt = 0.001;      // of the time, over an octave: what is left undecided
constexpr double kLosing = 0.02;        // of the time, at a length that judges
constexpr double kDip = 0.02;           // and at one that decides, but not by itself
constexpr std::size_t kMostJudges = 3;  // times the share of held-out lengths
// Where lengths are nearer than this, waves of tiles between them take more time to find than they
// cost: sweeps for one series went on for half of their lengths without an end.
constexpr double kFinestWave = 1.1;
const double kNear = std::log(1.1);     // rivals of a bisection
const double kInReach = std::log(2.0);  // rivals at a length that judges
constexpr int kReplicates = 200;

/// Problems of a group that differ in their length alone, ascending, with what was seen of them.
struct Series {
  std::vector<LengthRatios> points;
  std::vector<const Problem*> problems;
  std::vector<LengthRatios> judges;         // held out
  std::vector<std::int64_t> judge_lengths;  // of each
};

std::map<std::string, Series> series_of(const Group& group) {
  DecideOptions options;
  options.bootstrap = kReplicates;
  std::map<std::string, Series> found;
  for (LengthRatios& point : estimate(group.points, options)) {
    const Problem& problem = *group.points[point.point].rows.front()->problem;
    Series& series = found[shape_key(problem)];
    series.points.push_back(std::move(point));
    series.problems.push_back(&problem);
  }
  for (LengthRatios& point : estimate(group.held_out, options)) {
    const Problem& problem = *group.held_out[point.point].rows.front()->problem;
    Series& series = found[shape_key(problem)];
    series.judges.push_back(std::move(point));
    series.judge_lengths.push_back(length_of(problem));
  }
  for (auto& [key, series] : found) {
    std::vector<std::size_t> order(series.points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return length_of(*series.problems[i]); });
    Series sorted;
    sorted.judges = std::move(series.judges);
    sorted.judge_lengths = std::move(series.judge_lengths);
    for (const std::size_t i : order) {
      sorted.points.push_back(std::move(series.points[i]));
      sorted.problems.push_back(series.problems[i]);
    }
    series = std::move(sorted);
  }
  return found;
}

/// Adds the problems of one series.
class Refiner {
 public:
  Refiner(const Group& group, const Series& series, const SweepSpec& spec,
          std::int64_t longest_of_spec, const std::string& executor, std::set<std::string>& known,
          std::vector<Refinement>& found)
      : group_(group),
        series_(series),
        spec_(spec),
        longest_of_spec_(longest_of_spec),
        executor_(executor),
        known_(known),
        found_(found) {}

  void add_all() {
    if (series_.points.size() < 2) return;  // one length is what was asked for
    add_held_out();
    add_unaligned();
    table_ = choose_assignment(series_.points, options());
    go_up();
    if (mend()) return;  // before thresholds become sharper
    for (std::size_t i = 1; i < table_.size(); ++i) {
      if (table_[i] != table_[i - 1]) bisect(i);
    }
  }

 private:
  DecideOptions options() const {
    DecideOptions options;
    options.epsilon = spec_.policy.epsilon;
    return options;
  }
  std::int64_t length_at(std::size_t i) const { return length_of(*series_.problems[i]); }
  std::string stages() const { return join_stages(group_.stages); }

  void add(std::int64_t length, std::size_t like, const std::vector<std::size_t>& rivals,
           bool held_out) {
    auto problem = with_length(*series_.problems[like], length);
    if (!problem || rivals.empty()) return;
    if (!known_.insert(stages() + Json(*problem).dump()).second) return;
    Refinement refinement{std::move(*problem), group_.stages, executor_, {}, held_out};
    for (const std::size_t v : rivals) refinement.variants.push_back(group_.variants[v]);
    found_.push_back(std::move(refinement));
  }

  /// Variants that are that near to the best at one of two lengths at least.
  std::vector<std::size_t> rivals(std::size_t i, std::size_t j, double reach) const {
    std::vector<std::size_t> found;
    for (std::size_t v = 0; v < group_.variants.size(); ++v) {
      const auto near = [&](const LengthRatios& s) { return s.usable[v] && s.excess[v] < reach; };
      if (near(series_.points[i]) || near(series_.points[j])) found.push_back(v);
    }
    return found;
  }

  /// A length between two at which different variants were chosen.
  void bisect(std::size_t i) {
    const std::int64_t below = length_at(i - 1), above = length_at(i);
    const std::int64_t finest =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kFinest * static_cast<double>(above)));
    if (above - below <= finest || !matters(i)) return;
    auto middle = middle_of(below, above);
    const bool full_tiles = below % kTile == 0 && above % kTile == 0 && above - below > 2 * kTile;
    if (full_tiles) middle = (middle + kTile / 2) / kTile * kTile;
    middle = std::clamp(middle, below + 1, above - 1);
    add(middle, i - 1, rivals(i - 1, i, kNear), false);
  }

  /// Whether the wrong one of two neighbouring choices costs more than a tie at either length.
  bool matters(std::size_t i) const {
    const LengthRatios &left = series_.points[i - 1], &right = series_.points[i];
    const std::size_t a = table_[i - 1], b = table_[i];
    if (!left.usable[b] || !right.usable[a]) return true;
    const double loss =
        std::max(left.excess[b] - left.excess[a], right.excess[a] - right.excess[b]);
    const double octaves = (log_axis(length_at(i)) - log_axis(length_at(i - 1))) / std::log(2.0);
    return loss > options().epsilon && loss * std::min(1.0, octaves) > kWorthIt;
  }

  /// Lengths on both sides of those that judge and lose much, and of measured ones at which another
  /// variant is faster than the one of their range: it has a range of its own, or was noise. And
  /// where there are such, another judge where nobody looked. Where lengths are near on both sides
  /// of all that lose, nothing will change that: all the judges that there may be are asked at
  /// once. False where none loses.
  bool mend() {
    std::size_t losing = 0;
    const std::size_t before = found_.size();
    for (std::size_t j = 0; j < series_.judges.size(); ++j) {
      const std::int64_t length = series_.judge_lengths[j];
      const std::size_t i = neighbour(length);
      if (length <= length_at(i - 1) || length >= length_at(i)) continue;
      const LengthRatios& judge = series_.judges[j];
      const std::size_t v = table_[nearer(length, i)];
      if (judge.usable[v] && regret_of(judge, v) <= kLosing) continue;
      ++losing;
      add_between(length_at(i - 1), length, i, judge);
      add_between(length, length_at(i), i, judge);
    }
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (regret_of(series_.points[i], table_[i]) <= kDip) continue;
      if (i > 0) add_between(length_at(i - 1), length_at(i), i, series_.points[i]);
      if (i + 1 < table_.size())
        add_between(length_at(i), length_at(i + 1), i + 1, series_.points[i]);
    }
    const bool mended = found_.size() > before;
    for (std::size_t more = losing > 0 ? judges_left() : 0; more > 0; --more) {
      add_judge();
      if (mended) break;
    }
    return found_.size() > before;
  }
  /// The index of the one of two neighbours that decides for a length between them.
  std::size_t nearer(std::int64_t length, std::size_t i) const {
    const double at = log_axis(length);
    return at - log_axis(length_at(i - 1)) < log_axis(length_at(i)) - at ? i - 1 : i;
  }
  void add_between(std::int64_t below, std::int64_t above, std::size_t i,
                   const LengthRatios& judge) {
    if (static_cast<double>(above) < kFinestWave * static_cast<double>(below)) return;
    std::vector<std::size_t> all = rivals(i - 1, i, kNear);
    for (std::size_t v = 0; v < group_.variants.size(); ++v) {
      if (judge.usable[v] && judge.excess[v] < kNear && std::ranges::find(all, v) == all.end())
        all.push_back(v);
    }
    std::ranges::sort(all);
    add(middle_of(below, above), i - 1, all, false);
  }
  /// Half way on the axis that ratios are smooth over.
  static std::int64_t middle_of(std::int64_t below, std::int64_t above) {
    return static_cast<std::int64_t>(
        std::lround(std::exp((log_axis(below) + log_axis(above)) / 2)));
  }
  std::size_t judges_left() const {
    const std::size_t most = kMostJudges * judges_wanted();
    return most - std::min(most, series_.judges.size());
  }
  /// One more held-out length, in the widest gap.
  void add_judge() {
    std::vector<std::int64_t> all = series_.judge_lengths;
    all.insert(all.end(), new_judges_.begin(), new_judges_.end());
    for (std::size_t i = 0; i < length_count(); ++i) all.push_back(length_at(i));
    std::ranges::sort(all);
    std::size_t widest = 1;
    const auto gap = [&](std::size_t i) { return log_axis(all[i]) - log_axis(all[i - 1]); };
    for (std::size_t i = 2; i < all.size(); ++i) {
      if (gap(i) > gap(widest)) widest = i;
    }
    if (gap(widest) < 2 * std::log(kFinestWave)) return;
    std::int64_t length = middle_of(all[widest - 1], all[widest]);
    if (length % kSmallTile == 0) ++length;
    const std::size_t i = neighbour(length);
    add(length, i - 1, rivals(i - 1, i, kInReach), true);
    new_judges_.push_back(length);
  }
  std::size_t judges_wanted() const {
    return static_cast<std::size_t>(
        std::ceil(spec_.policy.held_out * static_cast<double>(series_.points.size())));
  }

  /// Twice the longest length, as long as that may change what runs at long lengths.
  void go_up() {
    const std::size_t last = series_.points.size() - 1;
    const std::int64_t length = length_at(last);
    if (group_.axis == Axis::row_len || 2 * length > kFurthest * longest_of_spec_) return;
    const std::vector<std::size_t> open = open_rivals(last);
    if (open.size() < 2) return;
    add(2 * length, last, open, false);
  }

  /// The choice of the longest length, and those within reach of it whose order is another one, or
  /// is not declared. Empty where it goes on without doubt.
  std::vector<std::size_t> open_rivals(std::size_t last) const {
    const LengthRatios& point = series_.points[last];
    const std::size_t w = table_[last];
    std::vector<std::size_t> open;
    const double reach = std::log(spec_.policy.give_up_ratio);
    for (std::size_t v = 0; v < group_.variants.size(); ++v) {
      if (!point.usable[v] || point.excess[v] - point.excess[w] > reach) continue;
      const bool same = group_.exponents[v] && group_.exponents[w] &&
                        *group_.exponents[v] == *group_.exponents[w];
      if (v == w || !same) open.push_back(v);
    }
    return open;
  }

  /// Lengths between those of the spec, spread evenly on a log axis, no multiples of any tile.
  void add_held_out() {
    if (!group_.held_out.empty() || series_.points.size() < 3) return;
    const auto count = static_cast<std::int64_t>(judges_wanted());
    const double low = log_axis(length_at(0)), high = log_axis(length_at(length_count() - 1));
    const std::string seed = fmt::format("{}/{}", spec_.seed, stages());
    for (std::int64_t k = 0; k < count; ++k) {
      const std::uint64_t random = std::stoull(hash_hex(seed + std::to_string(k)), nullptr, 16);
      const double share = (static_cast<double>(k) + static_cast<double>(random % 1024) / 1024) /
                           static_cast<double>(count);
      auto length = static_cast<std::int64_t>(std::lround(std::exp(std::lerp(low, high, share))));
      if (length % 8 == 0) ++length;
      const std::size_t i = neighbour(length);
      add(length, i - 1, rivals(i - 1, i, kInReach), true);
    }
  }
  std::size_t length_count() const { return series_.points.size(); }

  /// Lengths that fill every tile say nothing of those that do not: where the spec has hardly any
  /// others, one between each two, the short ones first where tiles cost the most. Short ones say
  /// nothing of long ones, so that one is near the longest length of the spec.
  void add_unaligned() {
    if (group_.axis == Axis::row_len) return;
    add_unaligned_short();
    add_unaligned_long();
  }
  bool is_full(std::size_t i) const { return length_at(i) % kSmallTile == 0; }
  void add_unaligned_below(std::size_t i, double share) {
    const double at = std::lerp(log_axis(length_at(i - 1)), log_axis(length_at(i)), share);
    auto length = static_cast<std::int64_t>(std::lround(std::exp(at)));
    while (length % kSmallTile == 0) ++length;
    if (length <= length_at(i - 1) || length >= length_at(i)) return;
    add(length, i - 1, rivals(i - 1, i, kInReach), false);
  }
  void add_unaligned_long() {
    std::size_t last = length_count() - 1;
    while (last > 0 && length_at(last) > longest_of_spec_) --last;
    std::size_t i = last;
    while (i > 0 && 2 * length_at(i) >= length_at(last) && is_full(i)) --i;
    if (last > 0 && (2 * length_at(i) < length_at(last) || is_full(i)))
      add_unaligned_below(last, 0.7);
  }
  void add_unaligned_short() {
    constexpr std::size_t kLeast = 2, kMost = 5;
    std::size_t others = 0;
    for (std::size_t i = 0; i < length_count(); ++i) others += is_full(i) ? 0 : 1;
    if (others >= kLeast) return;
    for (std::size_t i = 1; i < std::min(length_count(), kMost + 1); ++i)
      add_unaligned_below(i, 0.4);
  }

  /// The first measured length above; 1 at least.
  std::size_t neighbour(std::int64_t length) const {
    std::size_t i = 1;
    while (i + 1 < length_count() && length_at(i) < length) ++i;
    return i;
  }

  const Group& group_;
  const Series& series_;
  const SweepSpec& spec_;
  std::int64_t longest_of_spec_;
  const std::string& executor_;
  std::set<std::string>& known_;
  std::vector<Refinement>& found_;
  Assignment table_;
  std::vector<std::int64_t> new_judges_;
};

/// Since it was asked the last time.
bool has_new_rows(const Group& group, const std::string& executor, Refined& refined) {
  std::size_t rows = 0;
  for (const auto* points : {&group.points, &group.held_out})
    for (const LengthPoint& point : *points) rows += point.rows.size();
  const std::string race =
      fmt::format("{} {} {} {} {}", executor, join_stages(group.stages),
                  to_string(group.problem_class), to_string(group.launch), to_string(group.timer));
  return std::exchange(refined.rows[race], rows) != rows;
}

std::map<std::string, std::int64_t> longest_of(const SweepSpec& spec) {
  std::map<std::string, std::int64_t> longest;
  for (const Problem& problem : expand(spec)) {
    std::int64_t& known = longest[shape_key(problem)];
    known = std::max(known, length_of(problem));
  }
  return longest;
}

}  // namespace

std::vector<Refinement> refine(const DecideInput& input, const SweepSpec& spec) {
  Refined nothing;
  return refine(input, spec, nothing);
}

std::vector<Refinement> refine(const DecideInput& input, const SweepSpec& spec, Refined& refined) {
  std::vector<Refinement> found;
  if (!spec.policy.refine) return found;
  const auto longest = longest_of(spec);
  std::set<std::string> known;
  std::set<std::pair<const Problem*, const VariantId*>>
      seen;  // rows share what they have in common
  for (const Observation& row : input.rows.rows()) {
    if (seen.insert({row.problem, row.variant}).second)
      known.insert(join_stages(row.variant->stages) + Json(*row.problem).dump());
  }
  std::vector<std::string> unsaid;
  for (const ClassRows& of_class : group_rows(input, unsaid)) {
    for (const Group& group : of_class.groups) {
      if (!has_new_rows(group, input.options.executor, refined)) continue;
      for (const auto& [shape, series] : series_of(group)) {
        const auto of_spec = longest.find(shape);
        if (of_spec == longest.end()) continue;
        Refiner(group, series, spec, of_spec->second, input.options.executor, known, found)
            .add_all();
      }
    }
  }
  return found;
}

}  // namespace nsa::tuner
