// The backward pass of the reference, in fp64 and written to be read: what the gradient of a loss
// with respect to an output says of the inputs. One file per stage, as for the forward pass.
//
// Selection has no gradient (as in the paper): which keys a query saw is given, not differentiated.
// Every function adds to the gradients that it is given, since many outputs share one input: all
// queries that saw a key add to the gradient of that key. A gradient in a view is fp64 and has the
// shape of its tensor, with contiguous rows; `d_x` is the gradient of the loss with respect to x.
#pragma once

#include "reference/reference.hpp"

namespace nsa::reference {

// attend.cpp
/// One row of attend().
struct AttendedRow {
  Row q;  // [head_dim_k]
  KvTensors kv;
  std::span<const std::int64_t> rows;  // of the keys that it saw
  std::int64_t head;                   // of the keys
  Row d_o;                             // [head_dim_v]
  const Row* o = nullptr;              // what attend() gave, as it was stored; null: computed again
};
/// Adds to `d_q` [head_dim_k] and to the rows of the keys and values that it saw. Adds nothing
/// where it saw none.
void attend_backward(const AttendedRow& of, Row& d_q, const KvTensors& d_kv);

// compress.cpp
/// Of pool(): a token of the block gets its share of the mean's gradient.
void pool_backward(const Row& d_mean, std::int64_t first, std::int64_t head, const Geometry& g,
                   const TensorView& d_raw);

// project_rope.cpp
/// Of linear(): rows [first, first + d_y.size()) of `d_weight`, and `d_x`.
void linear_backward(const TensorView& weight, std::int64_t first, const Row& x, const Row& d_y,
                     const TensorView& d_weight, Row& d_x);
/// Of project_token(): a rotation is turned back, then the product.
void project_token_backward(const Projection& projection, const TensorView& w_qkv, const Row& x,
                            std::int64_t position, const AttentionOptions& options, Row d_y,
                            const TensorView& d_w_qkv, Row& d_x);

// gate_combine.cpp
/// Of combine(): `d_o` [q_heads * head_dim_v] of one token gives the gradient of each group's three
/// weights and of each branch. Overwrites both.
void combine_backward(const Problem& problem, std::span<const Row> gates,
                      std::span<const Row> branches, const Row& d_o, std::vector<Row>& d_gates,
                      std::vector<Row>& d_branches);
/// What gate() reads for one token and KV group.
struct GateRow {
  const Problem& problem;
  const TensorView& q;
  const GateWeights& weights;
  std::int64_t token, group;
  const AttentionOptions& options;
};
/// Of gate(): through the softmax over branches, the MLP and the mean of the group's queries.
/// Weights that are fixed (a forced branch, uniform weights) have no gradient.
void gate_backward(const GateRow& of, const Row& d_gate, const GateWeights& d_weights,
                   const TensorView& d_q);

// model.cpp
/// x / (1 + exp(-x)), and its derivative.
double silu(double x);
double silu_slope(double x);
/// Of y = x weight / sqrt(mean(x^2) + 1e-6), one row: adds to both gradients.
void rms_norm_backward(const Row& x, const Row& weight, const Row& d_y, Row& d_weight, Row& d_x);
/// Of y = W2 silu(W1 x), one row: adds to the gradients of both weights and of x.
void mlp_backward(const TensorView& w1, const TensorView& w2, const Row& x, const Row& d_y,
                  const TensorView& d_w1, const TensorView& d_w2, Row& d_x);
/// The loss of one token, -log softmax(logits)[target]; overwrites `d_logits`. Not infinite where
/// exp(logits) would be.
double cross_entropy(const Row& logits, std::size_t target, Row& d_logits);

// layer.cpp
/// Gradients of a layer's inputs, each with the shape of its tensor, row-major.
struct LayerGradients {
  Row x, w_qkv, fc1_w, fc1_b, fc2_w, fc2_b, w_o;
};
/// Of run_layer(): `inputs` and `options` as there, `trace` what it returned, `d_y`
/// [tokens * model_dim].
LayerGradients run_layer_backward(const Problem& problem, std::span<const TensorView> inputs,
                                  LayerTrace trace, const Row& d_y,
                                  const AttentionOptions& options = {});

}  // namespace nsa::reference
