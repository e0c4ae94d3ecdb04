// Native Sparse Attention in fp64, written to be read: one file per stage, one row at a time.
// Every function reads its operands as they are stored and computes in fp64. Nothing here is fast;
// everything else in the project is checked against it.
//
// Words: t is a query's absolute position in its sequence, 0-based. l, d, l', n, w are the fields
// of Geometry. "Equation" numbers are those of the NSA paper (arXiv 2502.11089).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/launch.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa::reference {

using Row = std::vector<double>;

/// Elements [offset, offset + count) of a tensor in fp64.
Row load(const TensorView& tensor, std::int64_t offset, std::int64_t count);
/// The row `index` of dimension 0, all trailing dimensions.
Row load_index(const TensorView& tensor, std::int64_t index);
/// Head `head` of row `index` of a tensor [rows, heads, dim].
Row load_head(const TensorView& tensor, std::int64_t index, std::int64_t head);

// project_rope.cpp
/// Rotates one head to `position`: pair i is (2i, 2i + 1), angle position / base^(2i / D).
void rotate(std::span<double> head, std::int64_t position, const AttentionOptions& options);
/// y = W x for rows [first, first + count) of W [out, in], stored row by row.
Row linear(const TensorView& weight, std::int64_t first, std::int64_t count, const Row& x);
/// Where the seven projections stand in w_qkv, in the order of the stage's outputs.
struct Projection {
  std::int64_t first_row, heads, dim;
  bool rotated;
};
std::vector<Projection> projections(const Problem& problem);
/// One output of project_rope for one token: [heads * dim].
Row project_token(const Projection& projection, const TensorView& w_qkv, const Row& x,
                  std::int64_t position, const AttentionOptions& options);

// compress.cpp
/// Mean of l raw rows from row `first` of one head (phi "avg", equation 7).
Row pool(const TensorView& raw, std::int64_t first, std::int64_t head, const Geometry& g);

// score.cpp
/// Softmax of q K_cmp^T / sqrt(Dk) over the `visible` compressed keys from row `first` (equation
/// 8).
Row compressed_probabilities(const Row& q, const TensorView& k_cmp, std::int64_t first,
                             std::int64_t visible, std::int64_t head);
/// p_slc of one head from p_cmp: each compressed block gives its weight to the selection blocks
/// that it overlaps, by the share of its l tokens (equation 9, normalised).
Row block_scores(const Row& p_cmp, std::int64_t blocks, const Geometry& g);
/// p_grp: sum of the block scores over the heads of a KV group (equation 10), one per block.
Row group_scores(const Problem& problem, const Sequence& sequence, const TensorView& q,
                 const TensorView& k_cmp, std::int64_t query, std::int64_t group);
/// Forced blocks and the best others, ascending, -1 in front (equation 11). Score descending, ties
/// to the lower index, NaN last.
std::vector<std::int32_t> top_blocks(const Row& scores, std::int64_t position, const Geometry& g);

// attend.cpp
/// Rows of the keys that query t of the sequence sees in each branch.
std::vector<std::int64_t> compressed_rows(const Sequence& s, std::int64_t t, const Geometry& g);
std::vector<std::int64_t> window_rows(const Sequence& s, std::int64_t t, const Geometry& g);
/// `ranges` [n, 2]: the union; a token counts once.
std::vector<std::int64_t> selected_rows(const Sequence& s, std::span<const std::int32_t> ranges);
/// softmax(q K^T / sqrt(Dk)) V over those rows of one KV head; zeros where there are none.
/// `lse` gets the log-sum-exp, -inf where there are none.
Row attend(const Row& q, const TensorView& k, const TensorView& v,
           std::span<const std::int64_t> rows, std::int64_t head, double* lse = nullptr);

// gate_combine.cpp
/// Mean of the queries of a KV group's heads: what its gate is computed from, [head_dim_k].
Row mean_query(const Problem& problem, const TensorView& q, std::int64_t token, std::int64_t group);
/// y = W x + b.
Row affine(const TensorView& weight, const TensorView& bias, const Row& x);
/// Weights of (cmp, sel, win) for one token and KV group. Branches that are off weigh nothing and
/// the others sum to one; a forced branch weighs one.
Row gate(const Problem& problem, const TensorView& q, const GateWeights& weights,
         std::int64_t token, std::int64_t group, const AttentionOptions& options);
/// sum of gate x branch for all heads of a token (equation 5): [q_heads * head_dim_v].
/// Branch outputs of that token, [q_heads * head_dim_v] each; empty = off.
Row combine(const Problem& problem, std::span<const Row> gates, std::span<const Row> branches);

/// Everything between the input and the output of one layer, row-major, for a prefill.
struct LayerTrace {
  Row q, k_cmp_raw, v_cmp_raw, k_sel, v_sel, k_win, v_win;  // [tokens, heads, dim]
  Row k_cmp, v_cmp;                                         // [compressed_tokens, kv_heads, dim]
  std::vector<Row> p_grp;                    // [tokens * kv_heads], one score per block each
  std::vector<std::int32_t> blocks, ranges;  // [tokens, kv_heads, n], [tokens, kv_heads, n, 2]
  Row o_cmp, o_sel, o_win, o;                // [tokens, q_heads, head_dim_v]
  Row gates;                                 // [tokens, kv_heads, 3]
  Row y;                                     // [tokens, model_dim]
};
/// `inputs` in the order of signature_of(Stage::layer). No sequence may have a context.
LayerTrace run_layer(const Problem& problem, std::span<const TensorView> inputs,
                     const AttentionOptions& options = {});

}  // namespace nsa::reference
