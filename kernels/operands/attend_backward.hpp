// Tensors of the backward pass of the attention stages by name. What the forward launch saved is
// read; where it saved no log-sum-exp, a row makes it again.
#pragma once

#include <array>

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// attend_compressed and attend_window.
struct BandBackwardTensors {
  /// Places among the outputs of a launch.
  enum Output : std::size_t { kDQ, kDK, kDV };

  TensorView q;            // [tokens, q_heads, head_dim_k]
  KvTensors kv;            // [rows, kv_heads, d]
  TensorView o;            // [tokens, q_heads, head_dim_v] of the forward pass
  TensorView d_o;          // [tokens, q_heads, head_dim_v]
  TensorView lse{};        // [tokens, q_heads] fp32; may be absent
  TensorView row_stats{};  // [tokens, q_heads, 2] fp32 (Saved::row_stats); may be absent
  TensorView d_q;          // out [tokens, q_heads, head_dim_k]; may be absent
  KvTensors d_kv;          // out [rows, kv_heads, d]; may be absent

  static BandBackwardTensors of(const LaunchArgs& args, Branch branch) {
    expects(args.in.size() == 5 && args.out.size() == 3,
            "q, k, v, o and d_o, and the gradients of q, k and v");
    return {.q = args.in[0],
            .kv = {.k = args.in[1], .v = args.in[2]},
            .o = args.in[3],
            .d_o = args.in[4],
            .lse = args.lse_of(branch),
            .row_stats = args.row_stats_of(branch),
            .d_q = args.out[kDQ],
            .d_kv = {.k = args.out[kDK], .v = args.out[kDV]}};
  }
  std::array<TensorView, 5> in() const { return {q, kv.k, kv.v, o, d_o}; }
  std::array<TensorView, 3> out() const { return {d_q, d_kv.k, d_kv.v}; }
};

/// attend_selected; its outputs are BandBackwardTensors::Output. Of blocks and ranges, the one that
/// the row ignores may be absent.
struct SelectedBackwardTensors {
  BandBackwardTensors attention;  // kv: [context_tokens, kv_heads, d]
  TensorView blocks;              // [tokens, kv_heads, sel_count] int32, -1 = unused
  TensorView ranges;              // [tokens, kv_heads, sel_count, 2] int32

  static SelectedBackwardTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 7 && args.out.size() == 3,
            "q, k, v, blocks, ranges, o and d_o, and the gradients of q, k and v");
    return {.attention = {.q = args.in[0],
                          .kv = {.k = args.in[1], .v = args.in[2]},
                          .o = args.in[5],
                          .d_o = args.in[6],
                          .lse = args.lse_of(Branch::sel),
                          .row_stats = args.row_stats_of(Branch::sel),
                          .d_q = args.out[BandBackwardTensors::kDQ],
                          .d_kv = {.k = args.out[BandBackwardTensors::kDK],
                                   .v = args.out[BandBackwardTensors::kDV]}},
            .blocks = args.in[3],
            .ranges = args.in[4]};
  }
  std::array<TensorView, 7> in() const {
    return {attention.q, attention.kv.k, attention.kv.v, blocks,
            ranges,      attention.o,    attention.d_o};
  }
  std::array<TensorView, 3> out() const { return attention.out(); }
};

}  // namespace nsa
