#include "pool/checks/agreement.hpp"

#include <algorithm>
#include <chrono>

namespace nsa::tuner {
namespace {

/// Adds one KV head of one row: blocks of the reference, and those that were picked.
void add_head(Agreement& agreement, std::span<const double> expected,
              std::span<const std::int32_t> picked) {
  for (const double block : expected) {
    if (block < 0) continue;  // unused
    ++agreement.blocks;
    agreement.same +=
        std::find(picked.begin(), picked.end(), static_cast<std::int32_t>(block)) != picked.end();
  }
}

}  // namespace

bool selects_reduced(const Variant& row) {
  return row.precision == Precision::reduced && row.stages.size() == 1 &&
         row.stages.front() == Stage::score;
}

Agreement agreement_of(const SpanOracle& oracle, const TensorView& blocks,
                       std::span<const std::int64_t> rows, double budget_s) {
  const auto start = std::chrono::steady_clock::now();
  const auto heads = static_cast<std::size_t>(blocks.shape[1]);
  const auto picks = static_cast<std::size_t>(blocks.shape[2]);
  const auto* picked = blocks.as<std::int32_t>();
  Agreement agreement;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i > 0 && took.count() > budget_s) break;
    const std::vector<double> expected = oracle.row(0, rows[i]);
    for (std::size_t head = 0; head < heads; ++head)
      add_head(agreement, std::span(expected).subspan(head * picks, picks),
               {picked + (i * heads + head) * picks, picks});
  }
  return agreement;
}

}  // namespace nsa::tuner
