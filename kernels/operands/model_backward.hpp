// Tensors of the backward pass of the stages between the model's width and the heads, and of the
// gate, by name.
#pragma once

#include <array>

#include "operands/model.hpp"

namespace nsa {

/// project_rope. The gradients of a branch that is off are absent, and count as zeros.
struct ProjectBackwardTensors {
  /// Places among the outputs of a launch.
  enum Output : std::size_t { kDX, kDWQkv };

  TensorView x;                   // [tokens, model_dim]
  TensorView w_qkv;               // [qkv_rows, model_dim]
  TensorView d_q;                 // [tokens, q_heads, head_dim_k] of the rotated q
  KvTensors d_cmp, d_sel, d_win;  // [tokens, kv_heads, d] of the new tokens, K rotated
  TensorView d_x;                 // out [tokens, model_dim]; may be absent
  TensorView d_w_qkv;             // out [qkv_rows, model_dim]; may be absent

  static ProjectBackwardTensors of(const LaunchArgs& args) {
    const auto& in = args.in;
    expects(in.size() == 9 && args.out.size() == 2,
            "x, w_qkv and the gradients of q, K and V, and those of x and w_qkv");
    return {.x = in[0],
            .w_qkv = in[1],
            .d_q = in[2],
            .d_cmp = {.k = in[3], .v = in[4]},
            .d_sel = {.k = in[5], .v = in[6]},
            .d_win = {.k = in[7], .v = in[8]},
            .d_x = args.out[kDX],
            .d_w_qkv = args.out[kDWQkv]};
  }
  /// The gradients in the order of the rows of w_qkv, as ProjectTensors has the outputs.
  std::array<Projection, 7> projections(const Problem& p) const {
    const ProjectTensors forward{
        .x = x, .w_qkv = w_qkv, .q = d_q, .cmp = d_cmp, .sel = d_sel, .win = d_win};
    return forward.projections(p);
  }
  std::array<TensorView, 9> in() const {
    return {x, w_qkv, d_q, d_cmp.k, d_cmp.v, d_sel.k, d_sel.v, d_win.k, d_win.v};
  }
  std::array<TensorView, 2> out() const { return {d_x, d_w_qkv}; }
};

/// gate_combine. A branch that is off may be absent, in and out.
struct GateBackwardTensors {
  /// Places among the outputs of a launch.
  enum Output : std::size_t { kDQ, kDCmp, kDSel, kDWin, kDFc1W, kDFc1B, kDFc2W, kDFc2B };
  static constexpr std::array kDBranches{kDCmp, kDSel, kDWin};  // by Branch

  TensorView q;                        // [tokens, q_heads, head_dim_k]
  std::array<TensorView, 3> branches;  // by Branch: [tokens, q_heads, head_dim_v]
  GateWeights weights;
  TensorView d_o;  // [tokens, q_heads, head_dim_v]
  TensorView d_q;  // out [tokens, q_heads, head_dim_k], through the gate alone
  std::array<TensorView, 3> d_branches;  // out, by Branch: [tokens, q_heads, head_dim_v]
  GateWeights d_weights;                 // out

  static GateBackwardTensors of(const LaunchArgs& args) {
    const auto &in = args.in, &out = args.out;
    expects(in.size() == 9 && out.size() == 8,
            "q, three branches, the gate's weights and d_o, and the gradients of all but d_o");
    return {.q = in[0],
            .branches = {in[1], in[2], in[3]},
            .weights = {.fc1_w = in[4], .fc1_b = in[5], .fc2_w = in[6], .fc2_b = in[7]},
            .d_o = in[8],
            .d_q = out[kDQ],
            .d_branches = {out[kDCmp], out[kDSel], out[kDWin]},
            .d_weights = {.fc1_w = out[kDFc1W],
                          .fc1_b = out[kDFc1B],
                          .fc2_w = out[kDFc2W],
                          .fc2_b = out[kDFc2B]}};
  }
  std::array<TensorView, 9> in() const {
    return {q,
            branches[0],
            branches[1],
            branches[2],
            weights.fc1_w,
            weights.fc1_b,
            weights.fc2_w,
            weights.fc2_b,
            d_o};
  }
  std::array<TensorView, 8> out() const {
    return {d_q,
            d_branches[0],
            d_branches[1],
            d_branches[2],
            d_weights.fc1_w,
            d_weights.fc1_b,
            d_weights.fc2_w,
            d_weights.fc2_b};
  }
};

/// out_proj
struct OutProjBackwardTensors {
  /// Places among the outputs of a launch.
  enum Output : std::size_t { kDO, kDWO };

  TensorView o;      // [tokens, q_heads, head_dim_v]
  TensorView w_o;    // [model_dim, q_heads * head_dim_v]
  TensorView d_y;    // [tokens, model_dim]
  TensorView d_o;    // out [tokens, q_heads, head_dim_v]; may be absent
  TensorView d_w_o;  // out [model_dim, q_heads * head_dim_v]; may be absent

  static OutProjBackwardTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 3 && args.out.size() == 2,
            "o, its weights and d_y, and the gradients of o and its weights");
    return {.o = args.in[0],
            .w_o = args.in[1],
            .d_y = args.in[2],
            .d_o = args.out[kDO],
            .d_w_o = args.out[kDWO]};
  }
  std::array<TensorView, 3> in() const { return {o, w_o, d_y}; }
  std::array<TensorView, 2> out() const { return {d_o, d_w_o}; }
};

}  // namespace nsa
