// The interval of one paired ratio: bootstrap over blocks, widened where there are few of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/tuner/decide.hpp"
#include "statistics.hpp"

namespace nsa::tuner {
namespace {

using Blocks = std::vector<std::vector<double>>;

/// Below this many blocks a percentile interval cannot reach its level: n = 4 ends at 87.5 %.
constexpr std::size_t kFewBlocks = 10;

Blocks by_block(const std::vector<double>& ratios, const std::vector<std::int64_t>& ids) {
  std::map<std::int64_t, std::vector<double>> found;
  for (std::size_t i = 0; i < ratios.size(); ++i) found[ids[i]].push_back(ratios[i]);
  Blocks blocks;
  for (auto& [id, values] : found) blocks.push_back(std::move(values));
  return blocks;
}

std::vector<double> replicates(const Blocks& blocks, int count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> medians, drawn;
  for (int b = 0; b < count; ++b) {
    drawn.clear();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::vector<double>& block = blocks[random.below(blocks.size())];
      drawn.insert(drawn.end(), block.begin(), block.end());
    }
    medians.push_back(median(drawn));
  }
  return medians;
}

/// Student's interval of the block medians joins the bootstrap's: the wider of both holds.
void widen_for_few(const Blocks& blocks, double tail, PairedRatio& result) {
  std::vector<double> values;
  double mean = 0;
  for (const std::vector<double>& block : blocks) values.push_back(median(block));
  for (const double v : values) mean += v / static_cast<double>(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const auto n = static_cast<double>(values.size());
  const double half = student_factor(tail, static_cast<std::int64_t>(values.size())) *
                      std::sqrt(squares / (n - 1) / n);
  result.low = std::min(result.low, mean - half);
  result.high = std::max(result.high, mean + half);
}

}  // namespace

PairedRatio paired_ratio(const std::vector<double>& log_ratios,
                         const std::vector<std::int64_t>& blocks, double confidence, int bootstrap,
                         std::uint64_t seed) {
  expects(log_ratios.size() == blocks.size() && !log_ratios.empty(), "one block id a ratio");
  expects(confidence > 0 && confidence < 1 && bootstrap > 0, "confidence in (0, 1), replicates");
  PairedRatio result;
  result.median = median(log_ratios);
  result.pairs = static_cast<std::int64_t>(log_ratios.size());
  const Blocks grouped = by_block(log_ratios, blocks);
  if (grouped.size() < 2) {  // one block says nothing about how blocks differ
    result.low = -std::numeric_limits<double>::infinity();
    result.high = std::numeric_limits<double>::infinity();
    return result;
  }
  const double tail = (1 - confidence) / 2;
  const double expanded = expanded_tail(tail, static_cast<std::int64_t>(grouped.size()));
  const std::vector<double> medians = replicates(grouped, bootstrap, seed);
  result.low = quantile(medians, expanded);
  result.high = quantile(medians, 1 - expanded);
  if (grouped.size() < kFewBlocks) widen_for_few(grouped, tail, result);
  return result;
}

}  // namespace nsa::tuner
