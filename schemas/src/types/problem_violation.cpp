// Which problems are possible at all. Every bound keeps later 64-bit products from overflowing.
#include <algorithm>
#include <cmath>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/problem/limits.hpp"

namespace nsa {
namespace {

using Violation = std::optional<std::string>;

constexpr std::int64_t kMaxDim = std::int64_t{1} << 16;  // heads, head dims, layers, widths
constexpr std::int64_t kMaxVocab = std::int64_t{1} << 24;
constexpr double kMaxElements = 0x1p52;  // of one tensor: eight bytes each stay far below 2^63
constexpr double kMaxScores = 0x1p60;    // query-key pairs of all heads

std::string number(std::int64_t value) { return std::to_string(value); }

Violation outside(const std::string& pointer, std::int64_t value, std::int64_t low,
                  std::int64_t high) {
  if (value >= low && value <= high) return std::nullopt;
  return pointer + ": " + number(value) + " is outside of " + number(low) + " to " + number(high);
}

Violation check_lens(const std::vector<std::int64_t>& lens, const std::string& pointer,
                     std::int64_t low) {
  for (std::size_t b = 0; b < lens.size(); ++b) {
    if (auto v = outside(pointer + "/" + std::to_string(b), lens[b], low, kMaxProblemTokens))
      return v;
  }
  return std::nullopt;
}

Violation check_batch(const Problem& p) {
  if (p.seq_lens.empty()) return "/seq_lens: empty; name at least one sequence";
  if (p.batch() > kMaxProblemBatch)
    return "/seq_lens: " + number(p.batch()) + " sequences; at most " + number(kMaxProblemBatch);
  if (p.context_lens.size() != p.seq_lens.size())
    return "/context_lens: " + std::to_string(p.context_lens.size()) + " values for " +
           std::to_string(p.seq_lens.size()) + " sequences; give one each";
  if (auto v = check_lens(p.seq_lens, "/seq_lens", 1)) return v;
  if (auto v = check_lens(p.context_lens, "/context_lens", 0)) return v;
  if (p.total_context() > kMaxProblemTokens)
    return "/seq_lens: " + number(p.total_context()) + " tokens with their contexts; at most " +
           number(kMaxProblemTokens);
  return std::nullopt;
}

Violation check_phase(const Problem& p) {
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    const std::string index = std::to_string(b);
    if (p.phase == Phase::prefill && p.context_lens[b] != 0)
      return "/context_lens/" + index + ": " + number(p.context_lens[b]) +
             " cached tokens in a prefill; use 0, or phase chunked_prefill";
    if (p.phase == Phase::decode && p.seq_lens[b] != 1)
      return "/seq_lens/" + index + ": " + number(p.seq_lens[b]) +
             " new tokens in a decode; use 1, or phase chunked_prefill";
  }
  return std::nullopt;
}

Violation check_heads(const Problem& p) {
  if (auto v = outside("/q_heads", p.q_heads, 1, kMaxDim)) return v;
  if (auto v = outside("/kv_heads", p.kv_heads, 1, kMaxDim)) return v;
  if (p.q_heads % p.kv_heads != 0)
    return "/q_heads: " + number(p.q_heads) + " is not a multiple of kv_heads " +
           number(p.kv_heads);
  if (auto v = outside("/head_dim_k", p.head_dim_k, 1, kMaxDim)) return v;
  if (auto v = outside("/head_dim_v", p.head_dim_v, 1, kMaxDim)) return v;
  if (p.head_dim_k % 2 != 0)
    return "/head_dim_k: " + number(p.head_dim_k) + " is odd; RoPE rotates pairs, use an even one";
  if (p.dtype == Dtype::int32) return "/dtype: int32 cannot hold q, k and v; use a float type";
  return std::nullopt;
}

// Constraints of the geometry: docs/nsa.md 1 and 5.
Violation check_geometry(const Geometry& g) {
  if (auto v = outside("/cmp_block", g.cmp_block, 1, kMaxProblemTokens)) return v;
  if (auto v = outside("/cmp_stride", g.cmp_stride, 1, kMaxProblemTokens)) return v;
  if (auto v = outside("/sel_block", g.sel_block, 1, kMaxProblemTokens)) return v;
  if (g.sel_count < 3)
    return "/sel_count: " + number(g.sel_count) +
           " is below 3; the first and two local blocks are always selected";
  if (auto v = outside("/sel_count", g.sel_count, 3, kMaxDim)) return v;
  if (auto v = outside("/window", g.window, 0, kMaxProblemTokens)) return v;
  if (g.cmp_block % g.cmp_stride != 0)
    return "/cmp_stride: " + number(g.cmp_stride) + " does not divide cmp_block " +
           number(g.cmp_block);
  if (g.sel_block % g.cmp_stride != 0)
    return "/cmp_stride: " + number(g.cmp_stride) + " does not divide sel_block " +
           number(g.sel_block);
  return std::nullopt;
}

Violation check_model(const ModelShape& m) {
  if (auto v = outside("/model_dim", m.model_dim, 0, kMaxDim)) return v;
  if (auto v = outside("/layers", m.layers, 0, kMaxDim)) return v;
  if (auto v = outside("/vocab_size", m.vocab_size, 0, kMaxVocab)) return v;
  if (m.model_dim == 0 && (m.layers != 0 || m.vocab_size != 0))
    return "/model_dim: missing; layers and vocab_size need the width of the model";
  return std::nullopt;
}

Violation check_selection(const Selection& s) {
  if (s.overlap && !(*s.overlap >= 0.0 && *s.overlap <= 1.0))
    return "/selection/overlap: not a share from 0 to 1";
  return std::nullopt;
}

Violation check_products(const Problem& p) {
  const auto tokens = static_cast<double>(p.total_context());
  const auto width = static_cast<double>(
      std::max(p.q_heads * std::max(p.head_dim_k, p.head_dim_v), p.model.model_dim));
  if (tokens * width > kMaxElements)
    return "/head_dim_k: tokens x heads x head dim is over 2^52; make the problem smaller";
  const auto scores = static_cast<double>(p.total_tokens()) * static_cast<double>(p.max_kv_len()) *
                      static_cast<double>(p.q_heads);
  if (scores > kMaxScores)
    return "/seq_lens: queries x keys x heads is over 2^60; make the problem smaller";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_violation(const Problem& p) {
  if (auto v = check_batch(p)) return v;
  if (auto v = check_phase(p)) return v;
  if (auto v = check_heads(p)) return v;
  if (auto v = check_geometry(p.geometry)) return v;
  if (auto v = check_model(p.model)) return v;
  if (auto v = check_selection(p.selection)) return v;
  return check_products(p);
}

void require_valid(const Problem& p, const std::string& where) {
  if (const auto violation = find_violation(p)) throw InputError(where + ": " + *violation);
}

}  // namespace nsa
