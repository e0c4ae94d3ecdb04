// Where a thresholds file is tried.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "classes.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/verify_table.hpp"

namespace nsa::tuner {
namespace {

constexpr double kBeside = 1.2;   // factor about a threshold
constexpr double kAside = 1.05;   // nearer to it both choices are as good
constexpr double kBeyond = 1.25;  // times shorter than the first range, at most
constexpr double kShare = 0.1;    // of what the decision took to measure
constexpr double kPairs = 7;      // that a place takes, of 6 to 8
constexpr std::size_t kBuiltIn = 2;
constexpr int kDraws = 20;  // for a length that is decided, before it is let be

bool needs_model(const std::vector<std::string>& stages) {
  return std::ranges::any_of(stages, [](const std::string& stage) {
    return stage == "project_rope" || stage == "out_proj" || stage == "layer" || stage == "model";
  });
}

/// Total tokens with that value on an axis that counts tokens or what is made of them.
std::int64_t tokens_at(Axis axis, std::int64_t value, const Geometry& geometry) {
  if (axis != Axis::compressed_len) return value;
  return (value - 1) * geometry.cmp_stride + geometry.cmp_block + geometry.cmp_stride / 2;
}

/// A problem of the class with that value on the axis; nothing where there is none.
std::optional<Problem> problem_at(const ProblemClass& of, const Decision& decision,
                                  std::int64_t value) {
  if (value < 1) return std::nullopt;
  Problem p = problem_of(of);
  const std::int64_t tokens = tokens_at(decision.axis, value, of.geometry);
  const bool decode = of.phase == Phase::decode;
  std::ranges::fill(p.seq_lens, decode ? 1 : tokens);
  if (decode)
    std::ranges::fill(p.context_lens, decision.axis == Axis::context_len ? tokens : tokens - 1);
  if (needs_model(decision.stages)) p.model.model_dim = of.q_heads * of.head_dim_k;
  if (decision.stages.front() == "model") {
    p.model.layers = 12;
    p.model.vocab_size = 256;
  }
  if (find_violation(p) || axis_value(p, decision.axis) != value) return std::nullopt;
  return p;
}

/// Draws that are the same on every machine, of a decision's own.
class Draw {
 public:
  explicit Draw(const std::string& key) : engine_(std::stoull(hash_hex(key), nullptr, 16)) {}
  /// Evenly on a log axis.
  std::int64_t between(double low, double high) {
    const double share = static_cast<double>(engine_() >> 11) * 0x1.0p-53;
    return std::llround(std::exp(std::lerp(std::log(low), std::log(std::max(low, high)), share)));
  }

 private:
  std::mt19937_64 engine_;
};

/// The shortest and the longest value that the ranges rest on.
std::pair<std::int64_t, std::int64_t> measured_span(const Decision& decision) {
  const ThresholdRange &first = decision.ranges.front(), &last = decision.ranges.back();
  std::int64_t low = std::max<std::int64_t>(1, first.from);
  std::int64_t high = last.to.value_or(2 * std::max<std::int64_t>(1, last.from));
  std::optional<std::int64_t> least, most;
  for (const ThresholdRange& range : decision.ranges) {
    if (const auto from = range.evidence.measured_from)
      least = std::min(least.value_or(*from), *from);
    if (const auto to = range.evidence.measured_to) most = std::max(most.value_or(*to), *to);
  }
  return {least.value_or(low), most.value_or(high)};
}

/// What a decision took to measure, where a pair at a length counts as much as it is long: Lengths
/// of a sweep lie evenly on a log axis. Losers and controls took more than that; times that grow
/// faster than lengths make long lengths a larger part of it than they are here.
double spent_on(const Decision& decision, double low, double high) {
  double pairs = 0;
  for (const ThresholdRange& range : decision.ranges)
    if (range.basis != Basis::extrapolated) pairs += static_cast<double>(range.evidence.pairs);
  return pairs * (high > low ? (high - low) / std::log(high / low) : low);
}

/// An undecided range states nothing that could be tried, and neither does a gap.
bool is_decided(const Decision& decision, std::int64_t at) {
  const ThresholdRange* range = range_at(decision, at);
  return range && range->basis != Basis::undecided;
}

/// Beside each threshold, one on either side: where it moved.
std::vector<std::int64_t> values_beside(const Decision& decision, Draw& draw) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 1; i < decision.ranges.size(); ++i) {
    if (decision.ranges[i].variant == decision.ranges[i - 1].variant) continue;
    const auto at = static_cast<double>(decision.ranges[i].from);
    values.push_back(draw.between(at / kBeside, at / kAside));
    values.push_back(draw.between(at * kAside, at * kBeside));
  }
  return values;
}

/// The longest length at which `inside` places and those beside the thresholds take a tenth of what
/// the decision took; twice the shortest at least, so that there is something to draw.
double longest_for(const Decision& decision, const std::vector<std::int64_t>& beside, int inside,
                   double low, double high) {
  const double spent = spent_on(decision, low, high);
  if (spent <= 0) return high;  // a file that does not say it
  double left = kShare * spent;
  for (const std::int64_t value : beside) left -= kPairs * static_cast<double>(value);
  return std::clamp(left / (kPairs * std::max(inside, 1)), std::min(2 * low, high), high);
}

std::vector<std::int64_t> values_of(const Decision& decision, Draw draw, int inside) {
  std::vector<std::int64_t> values = values_beside(decision, draw);
  const auto [shortest, longest] = measured_span(decision);
  const auto low = static_cast<double>(shortest);
  const double high = longest_for(decision, values, inside, low, static_cast<double>(longest));
  const auto draw_inside = [&](int k) {
    const std::int64_t value = draw.between(low, high);
    // Lengths that fill their tiles have ranges of their own.
    if (!decision.alignment || k % 2 == 0) return value;
    const std::int64_t multiple = decision.alignment->multiple;
    return std::max<std::int64_t>(1, value / multiple) * multiple;
  };
  for (int k = 0; k < inside; ++k) {
    std::int64_t value = draw_inside(k);
    for (int again = 1; again < kDraws && !is_decided(decision, value); ++again)
      value = draw_inside(k);
    values.push_back(value);
  }
  std::erase_if(values, [&](std::int64_t value) { return !is_decided(decision, value); });
  if (values.empty()) return values;  // nothing of it is decided
  // The built-in order runs beyond both ends; past the longest a place costs as much as all others.
  const double first = static_cast<double>(decision.ranges.front().from);
  if (first > kBeyond) values.push_back(draw.between(first / kBeyond, first / kAside));
  return values;
}

/// A variant by its text: of the ranges, or among those that the executor has.
void add_named(std::vector<VariantId>& found, const std::string& text,
               const std::vector<VariantTraits>& traits) {
  const auto known =
      std::ranges::find_if(traits, [&](const VariantTraits& t) { return to_string(t.id) == text; });
  if (known != traits.end()) found.push_back(known->id);
}

std::vector<VariantId> rivals_of(const Decision& decision, Direction direction,
                                 const std::vector<VariantTraits>& traits) {
  std::vector<VariantId> found;
  const auto add = [&](const ThresholdRange& range) {
    found.push_back(range.variant);
    if (range.evidence.runner_up) add_named(found, *range.evidence.runner_up, traits);
  };
  for (const ThresholdRange& range : decision.ranges) add(range);
  if (decision.alignment) {
    for (const ThresholdRange& range : decision.alignment->ranges) add(range);
  }
  std::size_t built_in = 0;
  for (const VariantTraits& one : traits) {
    if (!one.eligible || one.direction != direction || one.id.stages != decision.stages ||
        built_in == kBuiltIn)
      continue;
    found.push_back(one.id);
    ++built_in;
  }
  std::set<std::string> seen;
  std::erase_if(found, [&](const VariantId& id) { return !seen.insert(to_string(id)).second; });
  return found;
}

}  // namespace

std::vector<Refinement> trial_places(const ThresholdTable& table,
                                     const std::vector<VariantTraits>& traits, std::uint64_t seed,
                                     int inside) {
  std::vector<Refinement> places;
  std::set<std::string> seen;
  for (const ClassDecisions& of_class : table.classes) {
    for (const Decision& decision : of_class.decisions) {
      if (decision.ranges.empty()) continue;
      const std::string key = to_string(of_class.problem_class) + Json(decision.stages).dump();
      const std::vector<VariantId> rivals =
          rivals_of(decision, of_class.problem_class.direction, traits);
      for (const std::int64_t value :
           values_of(decision, Draw(std::to_string(seed) + key), inside)) {
        auto problem = problem_at(of_class.problem_class, decision, value);
        if (!problem) continue;
        if (!seen.insert(Json(*problem).dump() + Json(decision.stages).dump()).second) continue;
        places.push_back({std::move(*problem), decision.stages, table.executor, rivals, true});
      }
    }
  }
  return places;
}

std::vector<int> trial_ranks(const ThresholdTable& table, const std::vector<Contest>& contests) {
  std::set<const ThresholdRange*> tried;
  std::vector<int> ranks;
  for (const Contest& contest : contests) {
    const Decision* decision = find_decision(table, class_of(contest.problem), contest.stages);
    const ThresholdRange* range =
        decision ? range_at(*decision, axis_value(contest.problem, decision->axis)) : nullptr;
    if (!range || range->basis == Basis::undecided)
      ranks.push_back(2);
    else
      ranks.push_back(tried.insert(range).second ? 0 : 1);
  }
  return ranks;
}

}  // namespace nsa::tuner
