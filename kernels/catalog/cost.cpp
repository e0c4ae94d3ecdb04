// Floors of each stage by its formula (docs/nsa.md), written for ragged batches.
#include "catalog/cost.hpp"

#include <algorithm>

#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }
double element_bytes(const Problem& p) { return static_cast<double>(size_of(p.dtype)); }

/// sum of min(limit, m) for m = 1 .. count.
double sum_min(std::int64_t count, std::int64_t limit) {
  const double ramp = as_double(std::min(count, limit));
  return ramp * (ramp + 1) / 2 +
         as_double(std::max<std::int64_t>(count - limit, 0)) * as_double(limit);
}

/// sum of num_compressed(m) for m = 1 .. count.
double sum_compressed(std::int64_t count, const Geometry& g) {
  const std::int64_t rows = count - g.cmp_block + 1;  // rows that see a compressed token
  if (rows <= 0) return 0;
  const double whole = as_double(rows / g.cmp_stride);
  const double rest = as_double(rows % g.cmp_stride);
  return as_double(g.cmp_stride) * whole * (whole - 1) / 2 + rest * whole + as_double(rows);
}

/// Sum over sequences of prefix(kv_len) - prefix(context).
template <class Prefix>
double over_queries(const Problem& p, Prefix prefix) {
  double sum = 0;
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    sum += prefix(p.context_lens[b] + p.seq_lens[b]) - prefix(p.context_lens[b]);
  }
  return sum;
}

/// Sum over sequences of f(context, kv_len).
template <class F>
double over_sequences(const Problem& p, F f) {
  double sum = 0;
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    sum += as_double(f(p.context_lens[b], p.context_lens[b] + p.seq_lens[b]));
  }
  return sum;
}

double compressed_tokens(const Problem& p) {
  return over_sequences(
      p, [&](std::int64_t, std::int64_t kv) { return num_compressed(kv, p.geometry); });
}
double head_dims(const Problem& p) { return as_double(p.head_dim_k + p.head_dim_v); }
double tokens(const Problem& p) { return as_double(p.total_tokens()); }
double q_and_o_bytes(const Problem& p) {
  return element_bytes(p) * tokens(p) * as_double(p.q_heads) * head_dims(p);
}
double kv_row_bytes(const Problem& p) {
  return element_bytes(p) * as_double(p.kv_heads) * head_dims(p);
}
double attend_flop(const Problem& p, double pairs) {
  return 2 * as_double(p.q_heads) * head_dims(p) * pairs;
}
double block_bytes(const Problem& p) {
  return 4 * tokens(p) * as_double(p.kv_heads) * as_double(p.geometry.sel_count);
}
double projection_rows(const Problem& p) {
  return as_double(p.q_heads * p.head_dim_k) + 3 * as_double(p.kv_heads) * head_dims(p);
}

/// Keys that some query of the branch reads; each counts once.
double selected_rows(const Problem& p) {
  const std::int64_t limit = p.geometry.sel_count * p.geometry.sel_block;
  return over_sequences(p, [&](std::int64_t context, std::int64_t kv) {
    const double pairs = sum_min(kv, limit) - sum_min(context, limit);
    return static_cast<std::int64_t>(std::min(as_double(kv), pairs));
  });
}
double window_rows(const Problem& p) {
  const std::int64_t window = p.geometry.window;
  return over_sequences(p, [&](std::int64_t context, std::int64_t kv) {
    return window <= 0 ? 0 : kv - std::max<std::int64_t>(context + 1 - window, 0);
  });
}

}  // namespace

double compressed_pairs(const Problem& p) {
  return over_queries(p, [&](std::int64_t m) { return sum_compressed(m, p.geometry); });
}
double selected_pairs(const Problem& p) {
  const std::int64_t limit = p.geometry.sel_count * p.geometry.sel_block;
  return over_queries(p, [&](std::int64_t m) { return sum_min(m, limit); });
}
double window_pairs(const Problem& p) {
  return over_queries(p, [&](std::int64_t m) { return sum_min(m, p.geometry.window); });
}
double causal_pairs(const Problem& p) {
  return over_queries(p, [&](std::int64_t m) { return sum_min(m, m); });
}

Cost project_rope_cost(const Problem& p) {
  const double dim = as_double(p.model.model_dim), rows = projection_rows(p);
  return {2 * tokens(p) * dim * rows,
          element_bytes(p) * (tokens(p) * dim + rows * dim + tokens(p) * rows)};
}

Cost compress_cost(const Problem& p) {
  const double pooled = compressed_tokens(p);
  return {pooled * as_double(p.geometry.cmp_block * p.kv_heads) * head_dims(p),
          kv_row_bytes(p) * (as_double(p.total_context()) + pooled)};
}

Cost score_cost(const Problem& p) {
  const double dk = as_double(p.head_dim_k), e = element_bytes(p);
  const double q = tokens(p) * as_double(p.q_heads) * dk;
  const double k = compressed_tokens(p) * as_double(p.kv_heads) * dk;
  return {2 * as_double(p.q_heads) * dk * compressed_pairs(p), e * (q + k) + block_bytes(p)};
}

Cost ranges_cost(const Problem& p) {
  return {block_bytes(p) / 4, 3 * block_bytes(p)};  // one comparison an id; ids in, pairs out
}

Cost attend_compressed_cost(const Problem& p) {
  return {attend_flop(p, compressed_pairs(p)),
          q_and_o_bytes(p) + kv_row_bytes(p) * compressed_tokens(p)};
}

Cost attend_compressed_and_score_cost(const Problem& p) {
  Cost both = attend_compressed_cost(p);
  both.bytes += block_bytes(p);
  return both;
}

Cost attend_selected_cost(const Problem& p) {
  return {attend_flop(p, selected_pairs(p)),
          q_and_o_bytes(p) + kv_row_bytes(p) * selected_rows(p) + block_bytes(p)};
}

Cost attend_window_cost(const Problem& p) {
  return {attend_flop(p, window_pairs(p)), q_and_o_bytes(p) + kv_row_bytes(p) * window_rows(p)};
}

Cost gate_combine_cost(const Problem& p) {
  const double rows = tokens(p) * as_double(p.kv_heads), dk = as_double(p.head_dim_k);
  const double hidden = as_double(std::max<std::int64_t>(1, p.head_dim_k / 2));
  const double q = tokens(p) * as_double(p.q_heads) * dk;
  const double o = tokens(p) * as_double(p.q_heads * p.head_dim_v);
  const double weights = hidden * dk + 4 * hidden + 3;
  return {q + rows * (2 * hidden * dk + 6 * hidden) + 5 * o,
          element_bytes(p) * (q + 4 * o + weights)};
}

Cost out_proj_cost(const Problem& p) {
  const double dim = as_double(p.model.model_dim), in = as_double(p.q_heads * p.head_dim_v);
  return {2 * tokens(p) * dim * in, element_bytes(p) * (tokens(p) * (dim + in) + dim * in)};
}

Cost attention_cost(const Problem& p) {
  const double flop = compress_cost(p).flop + score_cost(p).flop + ranges_cost(p).flop +
                      attend_compressed_cost(p).flop + attend_selected_cost(p).flop +
                      attend_window_cost(p).flop + gate_combine_cost(p).flop;
  const double rows = as_double(p.total_context()) + selected_rows(p) + window_rows(p);
  return {flop, q_and_o_bytes(p) + kv_row_bytes(p) * rows};
}

Cost dense_attention_cost(const Problem& p) {
  return {attend_flop(p, causal_pairs(p)),
          q_and_o_bytes(p) + kv_row_bytes(p) * as_double(p.total_context())};
}

Cost layer_cost(const Problem& p) {
  const Cost in = project_rope_cost(p), middle = attention_cost(p), out = out_proj_cost(p);
  const double dim = as_double(p.model.model_dim), e = element_bytes(p);
  const double weights = projection_rows(p) * dim + dim * as_double(p.q_heads * p.head_dim_v);
  // The cache: the new rows written, and what the branches read of it. The raw rows of the
  // compressed branch are pooled when they are written.
  const double rows = 3 * tokens(p) + compressed_tokens(p) + selected_rows(p) + window_rows(p);
  return {in.flop + middle.flop + out.flop,
          e * (2 * tokens(p) * dim + weights) + kv_row_bytes(p) * rows};
}

Cost model_cost(const Problem& p) {
  const Cost layer = layer_cost(p);
  const double dim = as_double(p.model.model_dim), vocab = as_double(p.model.vocab_size);
  const double mlp = 8 * dim * dim, layers = as_double(p.model.layers), e = element_bytes(p);
  return {layers * (layer.flop + 2 * tokens(p) * mlp) + 2 * tokens(p) * dim * vocab,
          layers * (layer.bytes + e * mlp) + e * (vocab * dim + tokens(p) * vocab)};
}

Cost cost_of(Stage stage, const Problem& p) {
  switch (stage) {
    case Stage::project_rope:
      return project_rope_cost(p);
    case Stage::compress:
      return compress_cost(p);
    case Stage::score:
      return score_cost(p);
    case Stage::ranges:
      return ranges_cost(p);
    case Stage::attend_compressed:
      return attend_compressed_cost(p);
    case Stage::attend_selected:
      return attend_selected_cost(p);
    case Stage::attend_window:
      return attend_window_cost(p);
    case Stage::gate_combine:
      return gate_combine_cost(p);
    case Stage::out_proj:
      return out_proj_cost(p);
    case Stage::attention:
      return attention_cost(p);
    case Stage::layer:
      return layer_cost(p);
    case Stage::model:
      return model_cost(p);
  }
  throw ContractError("expected: a stage");
}

}  // namespace nsa
