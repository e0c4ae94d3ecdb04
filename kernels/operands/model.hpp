// Tensors of the stages between the model's width and the heads, and of the gate, by name.
#pragma once

#include <array>

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// One output of project_rope, and the rows of w_qkv that it is made of.
struct Projection {
  TensorView out;  // [tokens, heads, dim]; may be absent
  std::int64_t heads, dim;
  bool rotated;
  std::int64_t columns() const noexcept { return heads * dim; }
};

/// project_rope. Outputs of a branch that is off are absent.
struct ProjectTensors {
  TensorView x;             // [tokens, model_dim]
  TensorView w_qkv;         // [qkv_rows, model_dim]
  TensorView q;             // out [tokens, q_heads, head_dim_k] rotated
  KvTensors cmp, sel, win;  // out [tokens, kv_heads, d], K rotated

  static ProjectTensors of(const LaunchArgs& args) {
    const auto& out = args.out;
    expects(args.in.size() == 2 && out.size() == 7, "x and w_qkv in, q, K and V out");
    return {.x = args.in[0],
            .w_qkv = args.in[1],
            .q = out[0],
            .cmp = {.k = out[1], .v = out[2]},
            .sel = {.k = out[3], .v = out[4]},
            .win = {.k = out[5], .v = out[6]}};
  }
  /// The outputs in the order of the rows of w_qkv: q, then K of the branches, then V of them.
  std::array<Projection, 7> projections(const Problem& p) const {
    const auto keys = [&](const TensorView& k) {
      return Projection{k, p.kv_heads, p.head_dim_k, true};
    };
    const auto values = [&](const TensorView& v) {
      return Projection{v, p.kv_heads, p.head_dim_v, false};
    };
    return {Projection{q, p.q_heads, p.head_dim_k, true},
            keys(cmp.k),
            keys(sel.k),
            keys(win.k),
            values(cmp.v),
            values(sel.v),
            values(win.v)};
  }
  std::array<TensorView, 2> in() const { return {x, w_qkv}; }
  std::array<TensorView, 7> out() const { return {q, cmp.k, cmp.v, sel.k, sel.v, win.k, win.v}; }
};

/// gate_combine. A branch that is off may be absent.
struct GateTensors {
  TensorView q;                        // [tokens, q_heads, head_dim_k]
  std::array<TensorView, 3> branches;  // by Branch: [tokens, q_heads, head_dim_v]
  GateWeights weights;
  TensorView o;  // out [tokens, q_heads, head_dim_v]

  static GateTensors of(const LaunchArgs& args) {
    const auto& in = args.in;
    expects(in.size() == 8 && args.out.size() == 1, "q, three branches, the gate's weights; o");
    return {.q = in[0],
            .branches = {in[1], in[2], in[3]},
            .weights = {.fc1_w = in[4], .fc1_b = in[5], .fc2_w = in[6], .fc2_b = in[7]},
            .o = args.out[0]};
  }
  std::array<TensorView, 8> in() const {
    return {q,
            branches[0],
            branches[1],
            branches[2],
            weights.fc1_w,
            weights.fc1_b,
            weights.fc2_w,
            weights.fc2_b};
  }
  std::array<TensorView, 1> out() const { return {o}; }
};

/// out_proj
struct OutProjTensors {
  TensorView o;    // [tokens, q_heads, head_dim_v]
  TensorView w_o;  // [model_dim, q_heads * head_dim_v]
  TensorView y;    // out [tokens, model_dim]

  static OutProjTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 2 && args.out.size() == 1, "o and its weights, and y");
    return {.o = args.in[0], .w_o = args.in[1], .y = args.out[0]};
  }
  std::array<TensorView, 2> in() const { return {o, w_o}; }
  std::array<TensorView, 1> out() const { return {y}; }
};

}  // namespace nsa
