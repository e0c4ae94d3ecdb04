#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "cpu/convert.hpp"
#include "reference/forced_blocks.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa::reference {
namespace {

/// What a number of that type reads when all its bytes are the poison.
double poison_value(Dtype dtype) {
  constexpr std::uint64_t kPattern = 0xA5A5A5A5A5A5A5A5u;
  if (dtype == Dtype::int32) return static_cast<double>(std::bit_cast<std::int32_t>(0xA5A5A5A5u));
  std::uint64_t bytes = kPattern;
  double value = 0;
  load_row(make_view(&bytes, dtype, {1}), 0, 1, &value);
  return value;
}

}  // namespace

bool is_right_selection(const std::vector<std::int32_t>& row, const Row& scores,
                        std::int64_t position, const Problem& p) {
  const auto best = top_blocks(scores, position, p.geometry);
  if (row == best) return true;
  if (!std::is_sorted(row.begin(), row.end())) return false;
  std::vector<std::int32_t> extra, missing;
  std::set_difference(row.begin(), row.end(), best.begin(), best.end(), std::back_inserter(extra));
  std::set_difference(best.begin(), best.end(), row.begin(), row.end(),
                      std::back_inserter(missing));
  const ForcedBlocks forced = forced_blocks(position, p.geometry);
  double worst_extra = std::numeric_limits<double>::infinity(), best_missing = -worst_extra;
  for (std::size_t i = 0; i < extra.size(); ++i) {
    const bool twice = i > 0 && extra[i] == extra[i - 1];
    const bool complete = extra[i] >= 0 && (extra[i] + 1) * p.geometry.sel_block <= position + 1;
    if (twice || !complete || std::binary_search(best.begin(), best.end(), extra[i])) return false;
    worst_extra = std::min(worst_extra, scores[static_cast<std::size_t>(extra[i])]);
  }
  for (const std::int32_t id : missing) {
    if (id < 0 || forced.contains(id)) return false;
    best_missing = std::max(best_missing, scores[static_cast<std::size_t>(id)]);
  }
  return best_missing - worst_extra <= tie_tolerance(p.dtype) * std::abs(best_missing);
}

double relative_l2(const Row& expected, const Row& produced) noexcept {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(produced[i])) continue;
    if (expected[i] == produced[i]) {  // also infinities
      norm += std::isfinite(expected[i]) ? expected[i] * expected[i] : 0.0;
      continue;
    }
    difference += (expected[i] - produced[i]) * (expected[i] - produced[i]);
    norm += expected[i] * expected[i];
  }
  const double error =
      std::sqrt(difference) / std::max(std::sqrt(norm), std::numeric_limits<double>::min());
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double saved_error(const Row& expected, const Row& produced) noexcept {
  constexpr double kRounding = std::numeric_limits<float>::epsilon();
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == produced[i]) continue;  // also infinities
    const double apart = std::abs(expected[i] - produced[i]) - kRounding * std::abs(expected[i]);
    worst = std::max(worst, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return worst;
}

ElementCount count_bad(const Row& expected, const Row& produced, Dtype dtype, double tolerance) {
  const double poison = poison_value(dtype);
  double square = 0;
  for (const double x : expected) square += x * x;
  const double rms =
      std::sqrt(square / static_cast<double>(std::max<std::size_t>(1, expected.size())));
  ElementCount bad;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // In fp16 the poison, -0.022, may also be the right answer; elsewhere it is 1e-16 or less.
    const double slack = dtype == Dtype::fp16 ? tolerance * (std::abs(expected[i]) + rms) : 0.0;
    bad.poisoned += produced[i] == poison && !(std::abs(poison - expected[i]) <= slack);
    bad.non_finite += std::isfinite(expected[i]) && !std::isfinite(produced[i]);
  }
  return bad;
}

double wrong_share(const Problem& p, std::int64_t position, std::span<const Row> scores,
                   const Row& produced) {
  std::int64_t wrong = 0;
  for (std::int64_t g = 0; g < p.kv_heads; ++g) {
    const auto begin = produced.begin() + g * p.geometry.sel_count;
    const std::vector<std::int32_t> row(begin, begin + p.geometry.sel_count);
    wrong += !is_right_selection(row, scores[static_cast<std::size_t>(g)], position, p);
  }
  return static_cast<double>(wrong) / static_cast<double>(p.kv_heads);
}

}  // namespace nsa::reference
