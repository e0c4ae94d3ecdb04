// Derived quantities of a problem, its class, and the axes on which stages are decided.
#include "nsa/schemas/problem.hpp"

#include <algorithm>
#include <numeric>

namespace nsa {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) noexcept {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// 0 of none. Four maxima side by side, because each comparison waits for the one before it: of 16
/// lengths a single one is a quarter of what Router::choose() takes.
std::int64_t largest(const std::vector<std::int64_t>& values) noexcept {
  if (values.empty()) return 0;
  const auto larger = [](std::int64_t x, std::int64_t y) { return x < y ? y : x; };
  const std::int64_t* at = values.data();
  const std::int64_t* const end = at + values.size();
  std::int64_t a = *at, b = a, c = a, d = a;
  for (const std::int64_t* const eights = at + values.size() / 8 * 8; at != eights; at += 8) {
    a = larger(larger(a, at[0]), at[4]);
    b = larger(larger(b, at[1]), at[5]);
    c = larger(larger(c, at[2]), at[6]);
    d = larger(larger(d, at[3]), at[7]);
  }
  for (; at != end; ++at) a = larger(a, *at);
  return larger(larger(a, b), larger(c, d));
}

}  // namespace

std::int64_t Problem::total_tokens() const noexcept { return sum(seq_lens); }
std::int64_t Problem::total_context() const noexcept { return sum(seq_lens) + sum(context_lens); }
std::int64_t Problem::max_seq_len() const noexcept { return largest(seq_lens); }
std::int64_t Problem::max_context() const noexcept { return largest(context_lens); }

std::int64_t Problem::max_kv_len() const noexcept {
  std::int64_t longest = 0;
  const std::size_t n = std::min(seq_lens.size(), context_lens.size());
  for (std::size_t b = 0; b < n; ++b) longest = std::max(longest, seq_lens[b] + context_lens[b]);
  return longest;
}

std::int64_t Problem::max_compressed() const noexcept {
  return num_compressed(max_kv_len(), geometry);
}

ProblemClass class_of(const Problem& p) noexcept {
  ProblemClass c;
  c.direction = p.direction;
  c.phase = p.phase;
  c.q_heads = p.q_heads;
  c.kv_heads = p.kv_heads;
  c.head_dim_k = p.head_dim_k;
  c.head_dim_v = p.head_dim_v;
  c.geometry = p.geometry;
  c.dtype = p.dtype;
  c.batch_bin = batch_bin(p.batch());
  c.overlap_bin = overlap_bin(p.selection.overlap);
  return c;
}

std::int64_t axis_value(const Problem& p, Axis axis) noexcept {
  switch (axis) {
    case Axis::seq_len:
      return p.max_seq_len();
    case Axis::context_len:
      return p.max_context();
    case Axis::row_len:
      return std::min(p.max_kv_len(), p.geometry.window);
    case Axis::compressed_len:
      return p.max_compressed();
  }
  return 0;
}

Axis axis_of(Stage stage, Phase phase) noexcept {
  // The dense branches compare the lengths that their kernels see, as the users' switches do.
  if (stage == Stage::attend_window) return Axis::row_len;
  if (stage == Stage::attend_compressed) return Axis::compressed_len;
  // With a cache, new tokens are few and about constant; what grows is the context.
  return phase == Phase::prefill ? Axis::seq_len : Axis::context_len;
}

}  // namespace nsa
