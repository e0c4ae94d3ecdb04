// What is asked: one NSA call with its shape, batch and data. Values are plain: threads may share
// one that none of them changes. Functions share nothing: threads may call them at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/types.hpp"

namespace nsa {

/// NSA geometry, in tokens (paper symbols l, d, l', n, w).
struct Geometry {
  std::int64_t cmp_block = 32;   // l: tokens in a compression block
  std::int64_t cmp_stride = 16;  // d: tokens between two compression blocks; divides l and l'
  std::int64_t sel_block = 64;   // l': tokens in a selection block
  std::int64_t sel_count = 16;   // n: selected blocks, the forced ones included; 3 or more
  std::int64_t window = 512;     // w: sliding window, the query itself included; 0 = no window
  bool operator==(const Geometry&) const = default;
};

/// Where the selected blocks of a problem come from.
struct Selection {
  SelectionPattern pattern = SelectionPattern::random;
  /// Share of a query's non-forced blocks that the query before it chose too; nothing = unknown.
  std::optional<double> overlap;
  bool operator==(const Selection&) const = default;
};

/// The model around the attention; all zero for stages that do not see it.
struct ModelShape {
  std::int64_t model_dim = 0;   // width of x
  std::int64_t layers = 0;      // blocks of a `model`
  std::int64_t vocab_size = 0;  // of a `model`
  bool operator==(const ModelShape&) const = default;
};

/// One NSA problem. Sequence b has seq_lens[b] new tokens after context_lens[b] cached ones.
struct Problem {
  Direction direction = Direction::forward;
  Phase phase = Phase::prefill;
  std::vector<std::int64_t> seq_lens{2048};   // [batch] new tokens, 1 or more each
  std::vector<std::int64_t> context_lens{0};  // [batch] tokens already in the cache
  std::int64_t q_heads = 12;                  // multiple of kv_heads
  std::int64_t kv_heads = 2;
  std::int64_t head_dim_k = 64;  // even
  std::int64_t head_dim_v = 64;
  Geometry geometry;  // flat keys in JSON: cmp_block, cmp_stride, sel_block, sel_count, window
  Dtype dtype = Dtype::fp32;
  Selection selection;
  ModelShape model;  // flat keys in JSON: model_dim, layers, vocab_size; left out when zero
  bool operator==(const Problem&) const = default;

  /// Sequences.
  std::int64_t batch() const noexcept { return static_cast<std::int64_t>(seq_lens.size()); }
  /// Query heads that share one head of keys and values.
  std::int64_t heads_per_group() const noexcept { return q_heads / kv_heads; }
  /// New tokens of all sequences: the sum of seq_lens.
  std::int64_t total_tokens() const noexcept;
  /// New and cached tokens of all sequences.
  std::int64_t total_context() const noexcept;
  /// The longest seq_len.
  std::int64_t max_seq_len() const noexcept;
  /// The longest context_len.
  std::int64_t max_context() const noexcept;
  /// The longest seq_len + context_len of one sequence.
  std::int64_t max_kv_len() const noexcept;
  /// Compressed tokens of max_kv_len().
  std::int64_t max_compressed() const noexcept;
};

/// Compressed tokens that `tokens` tokens give: 0 below l, else (tokens - l) / d + 1. (Eq. 7)
constexpr std::int64_t num_compressed(std::int64_t tokens, const Geometry& g) noexcept {
  return tokens < g.cmp_block ? 0 : (tokens - g.cmp_block) / g.cmp_stride + 1;
}
/// Selection blocks that cover `tokens` tokens, the last one perhaps partial.
constexpr std::int64_t num_blocks(std::int64_t tokens, const Geometry& g) noexcept {
  return (tokens + g.sel_block - 1) / g.sel_block;
}

/// Where `p` breaks a constraint: a JSON pointer and what to do ("/q_heads: 12 is not ..."), or
/// nothing. Limits: dims and heads up to 2^16, tokens up to 2^31 in all, batch up to 65,536.
std::optional<std::string> find_violation(const Problem& p);
/// Throws InputError with `where` before the violation of find_violation, if any.
void require_valid(const Problem& p, const std::string& where);

/// Bins of the run-time inputs that a class does not hold exactly.
enum class BatchBin : std::uint8_t { one, two_to_four, five_to_sixteen, more };
enum class OverlapBin : std::uint8_t { low, middle, high };  // below .5, .5 to .9, .9 and above
/// "1", "2-4", "5-16", "more".
std::string_view to_string(BatchBin value) noexcept;
/// "low", "middle", "high".
std::string_view to_string(OverlapBin value) noexcept;

/// The key of a decision: everything exact but batch and overlap.
struct ProblemClass {
  Direction direction = Direction::forward;
  Phase phase = Phase::prefill;
  std::int64_t q_heads = 12;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim_k = 64;
  std::int64_t head_dim_v = 64;
  Geometry geometry;
  Dtype dtype = Dtype::fp32;
  BatchBin batch_bin = BatchBin::one;
  OverlapBin overlap_bin = OverlapBin::low;
  bool operator==(const ProblemClass&) const = default;
};

/// "forward prefill fp32 12/2 heads 64/64 l32 d16 l'64 n16 w512 batch 1 overlap low"
std::string to_string(const ProblemClass& c);

/// The bin of that many sequences.
constexpr BatchBin batch_bin(std::int64_t batch) noexcept {
  if (batch <= 1) return BatchBin::one;
  if (batch <= 4) return BatchBin::two_to_four;
  return batch <= 16 ? BatchBin::five_to_sixteen : BatchBin::more;
}
/// Unknown = low.
constexpr OverlapBin overlap_bin(const std::optional<double>& overlap) noexcept {
  if (!overlap || !(*overlap >= 0.5)) return OverlapBin::low;
  return *overlap < 0.9 ? OverlapBin::middle : OverlapBin::high;
}
/// The class of a problem; lengths have no part in it.
ProblemClass class_of(const Problem& p) noexcept;
/// Value of `p` on `axis`, in tokens.
std::int64_t axis_value(const Problem& p, Axis axis) noexcept;
/// The axis on which a stage's variants are decided in that phase.
Axis axis_of(Stage stage, Phase phase) noexcept;

}  // namespace nsa
