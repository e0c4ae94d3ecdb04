// Tensors of the stages that find what a query attends to, by name.
#pragma once

#include <array>

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// compress
struct CompressTensors {
  KvTensors raw;     // [context_tokens, kv_heads, d] K rotated
  KvTensors pooled;  // out [compressed_tokens, kv_heads, d]

  static CompressTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 2 && args.out.size() == 2, "k and v, and both pooled");
    return {.raw = {.k = args.in[0], .v = args.in[1]},
            .pooled = {.k = args.out[0], .v = args.out[1]}};
  }
  std::array<TensorView, 2> in() const { return {raw.k, raw.v}; }
  std::array<TensorView, 2> out() const { return {pooled.k, pooled.v}; }
};

/// score
struct ScoreTensors {
  TensorView q;       // [tokens, q_heads, head_dim_k]
  TensorView k_cmp;   // [compressed_tokens, kv_heads, head_dim_k]
  TensorView blocks;  // out [tokens, kv_heads, sel_count] int32

  static ScoreTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 2 && args.out.size() == 1, "q and k_cmp, and the blocks");
    return {.q = args.in[0], .k_cmp = args.in[1], .blocks = args.out[0]};
  }
  std::array<TensorView, 2> in() const { return {q, k_cmp}; }
  std::array<TensorView, 1> out() const { return {blocks}; }
};

/// attend_compressed and score by one row
struct CompressedScoreTensors {
  TensorView q;       // [tokens, q_heads, head_dim_k]
  KvTensors kv;       // [compressed_tokens, kv_heads, d]
  TensorView o;       // out [tokens, q_heads, head_dim_v]
  TensorView blocks;  // out [tokens, kv_heads, sel_count] int32
  TensorView lse{};   // out [tokens, q_heads] fp32; may be absent

  static CompressedScoreTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 3 && args.out.size() == 2,
            "q, k_cmp and v_cmp in, o_cmp and blocks out");
    return {.q = args.in[0],
            .kv = {.k = args.in[1], .v = args.in[2]},
            .o = args.out[0],
            .blocks = args.out[1],
            .lse = args.lse_of(Branch::cmp)};
  }
  ScoreTensors score() const { return {.q = q, .k_cmp = kv.k, .blocks = blocks}; }
  std::array<TensorView, 3> in() const { return {q, kv.k, kv.v}; }
  std::array<TensorView, 2> out() const { return {o, blocks}; }
};

/// ranges
struct RangesTensors {
  TensorView blocks;  // [tokens, kv_heads, sel_count] int32, -1 = unused
  TensorView ranges;  // out [tokens, kv_heads, sel_count, 2] int32

  static RangesTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 1 && args.out.size() == 1, "the blocks, and the ranges");
    return {.blocks = args.in[0], .ranges = args.out[0]};
  }
  std::array<TensorView, 1> in() const { return {blocks}; }
  std::array<TensorView, 1> out() const { return {ranges}; }
};

}  // namespace nsa
