// Tensors of the attention stages by name.
#pragma once

#include <array>

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// attend_compressed and attend_window: each query sees one run of keys.
struct BandTensors {
  TensorView q;      // [tokens, q_heads, head_dim_k]
  KvTensors kv;      // [rows, kv_heads, d]
  TensorView o;      // out [tokens, q_heads, head_dim_v]
  TensorView lse{};  // out [tokens, q_heads] fp32; may be absent

  static BandTensors of(const LaunchArgs& args, Branch branch) {
    expects(args.in.size() == 3 && args.out.size() == 1, "q, k and v, and one output");
    return {.q = args.in[0],
            .kv = {.k = args.in[1], .v = args.in[2]},
            .o = args.out[0],
            .lse = args.lse_of(branch)};
  }
  std::array<TensorView, 3> in() const { return {q, kv.k, kv.v}; }
  std::array<TensorView, 1> out() const { return {o}; }
};

/// attend_selected. Of blocks and ranges, the one that the row ignores may be absent.
struct SelectedTensors {
  TensorView q;       // [tokens, q_heads, head_dim_k]
  KvTensors kv;       // [context_tokens, kv_heads, d]
  TensorView blocks;  // [tokens, kv_heads, sel_count] int32, -1 = unused
  TensorView ranges;  // [tokens, kv_heads, sel_count, 2] int32
  TensorView o;       // out [tokens, q_heads, head_dim_v]
  TensorView lse{};   // out [tokens, q_heads] fp32; may be absent

  static SelectedTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 5 && args.out.size() == 1,
            "q, k, v, blocks and ranges, and one output");
    const SelectedTensors tensors{.q = args.in[0],
                                  .kv = {.k = args.in[1], .v = args.in[2]},
                                  .blocks = args.in[3],
                                  .ranges = args.in[4],
                                  .o = args.out[0],
                                  .lse = args.lse_of(Branch::sel)};
    const std::int64_t count = args.problem.geometry.sel_count;
    expects(!tensors.blocks || tensors.blocks.shape[2] <= count, "sel_count blocks in a row");
    expects(!tensors.ranges || tensors.ranges.shape[2] <= count, "sel_count ranges in a row");
    return tensors;
  }
  std::array<TensorView, 5> in() const { return {q, kv.k, kv.v, blocks, ranges}; }
  std::array<TensorView, 1> out() const { return {o}; }
};

}  // namespace nsa
