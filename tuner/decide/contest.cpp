// Whether a contest needs another round.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "nsa/schemas/median.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {
namespace {

constexpr int kReplicates = 400;  // enough for a stopping rule that is asked every round
constexpr double kConfidence = 0.95;
const double kClearlySlower = std::log(2.0);  // what one block alone may decide

/// Ratios of `variant` against `best` on the blocks that both have: the first pair of a block with
/// the first one, and so on.
struct Against {
  std::vector<double> ratios;
  std::vector<std::int64_t> blocks;
};

Against against(const ContestState& state, std::size_t variant, std::size_t best) {
  // Side by side through both, which are in order: the race asks after each visit of thousands.
  const std::vector<std::int64_t>&own = state.blocks[variant], &others = state.blocks[best];
  Against result;
  for (std::size_t i = 0, j = 0; i < own.size() && j < others.size();) {
    if (own[i] < others[j]) {
      ++i;
    } else if (others[j] < own[i]) {
      ++j;
    } else {
      result.ratios.push_back(state.log_ratios[variant][i++] - state.log_ratios[best][j++]);
      result.blocks.push_back(own[i - 1]);
    }
  }
  return result;
}

std::optional<std::size_t> best_of(const ContestState& state) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t v = 0; v < state.log_ratios.size(); ++v) {
    if (state.log_ratios[v].empty()) continue;
    const double value = median(state.log_ratios[v]);
    if (best && value >= least) continue;
    best = v;
    least = value;
  }
  return best;
}

bool decided(const Against& pair, double epsilon, std::uint64_t seed) {
  if (pair.ratios.empty()) return false;
  const bool one_block =
      std::all_of(pair.blocks.begin(), pair.blocks.end(),
                  [&](std::int64_t block) { return block == pair.blocks.front(); });
  if (one_block) return median(pair.ratios) > kClearlySlower;
  const PairedRatio r = paired_ratio(pair.ratios, pair.blocks, kConfidence, kReplicates, seed);
  return r.low > epsilon || r.high < -epsilon || (r.low > -epsilon && r.high < epsilon);
}

/// Spread of pairs with the best around the median of their variant, as a standard deviation. One
/// variant at least has two pairs.
double spread_against(const ContestState& state, std::size_t best) {
  std::vector<double> distances;
  for (std::size_t v = 0; v < state.log_ratios.size(); ++v) {
    if (v == best) continue;
    const std::vector<double> ratios = against(state, v, best).ratios;
    if (ratios.size() < 2) continue;
    const double middle = median(ratios);
    for (const double ratio : ratios) distances.push_back(std::abs(ratio - middle));
  }
  return kToSigma * median(std::move(distances));
}

}  // namespace

bool is_clear_loser(const ContestState& state, std::size_t variant) {
  static const double kFar = std::log(1.15), kBeyond = std::log(1.03);
  constexpr double kLeastSpread = 0.003, kStandardErrors = 4;
  constexpr std::size_t kFewest = 3;  // of two, one that is off would be half of what is known
  expects(variant < state.log_ratios.size(), "a variant of the contest");
  const std::optional<std::size_t> best = best_of(state);
  if (!best || variant == *best) return false;
  const std::vector<double> ratios = against(state, variant, *best).ratios;
  if (ratios.size() < kFewest) return false;
  const double least = *std::ranges::min_element(ratios);
  if (least > kFar) return true;
  if (ratios.size() < 4 || least <= kBeyond) return false;
  const auto pairs = static_cast<double>(ratios.size());
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / pairs;
  const double spread = std::max(spread_against(state, *best), kLeastSpread);
  return mean - kStandardErrors * spread / std::sqrt(pairs) > kBeyond;
}

bool contest_decided(const ContestState& state, double epsilon, std::uint64_t seed) {
  const std::optional<std::size_t> best = best_of(state);
  if (!best) return false;
  for (std::size_t v = 0; v < state.log_ratios.size(); ++v) {
    if (v != *best && !decided(against(state, v, *best), epsilon, seed)) return false;
  }
  return true;
}

}  // namespace nsa::tuner
