// What the backward kernels of the gate get.
#pragma once

#include <cstdint>

#include "cuda/backward/params.hpp"
#include "gate_combine/cuda/gate/mlp.hpp"
#include "gate_combine/cuda/gate_fused_backward/sizes.hpp"

namespace nsa::gate_combine {

/// A weight's gradient: rows of `columns`, any stride of rows.
struct WeightGradient {
  void* data = nullptr;
  std::int64_t row_stride = 0;
  int columns = 1;
  bool fp32 = false, accumulate = false;
};

/// Of a branch whose backward launch gets d_o itself, and with it what the gate says of its rows.
struct RowStats {
  float* data = nullptr;       // [tokens, q_heads, 2] (Saved::row_stats); null: it gets its own d_o
  const float* lse = nullptr;  // of the branch's forward launch
  std::int64_t lse_row_stride = 0, lse_head_stride = 0;
};

struct GateBackwardParams {
  cuda::HeadTensor<const void> q, branch[3], d_o;  // a branch may be absent
  cuda::GradientTensor d_q, d_branch[3];
  RowStats row_stats[3];
  int head_shift = 0;  // 3 or 4: 8 or 16 lanes of half a warp read one head at a time; 0: others do
  cuda::GateMlp mlp;
  WeightGradient d_weights[4];  // fc1_w, fc1_b, fc2_w, fc2_b
  float* sums = nullptr;        // [blocks, gate_gradient_numbers]
  int blocks = 0;               // set by gate_backward
  std::int64_t rows = 0;        // tokens x kv_heads
  int kv_heads = 0, group = 0, dk = 0, dv = 0, hidden = 0;
  float inverse_tau = 1;
  int force_branch = -1;
  unsigned branches = 7;
  bool uniform = false;

  constexpr bool fixed() const noexcept { return uniform || force_branch >= 0; }
  constexpr bool makes_row_stats() const noexcept {
    return row_stats[0].data || row_stats[1].data || row_stats[2].data;
  }
};

/// `vectors`: all rows of q, the branches, d_o and their gradients can move in pieces of 16 bytes.
void gate_backward(GateBackwardParams p, Dtype dtype, bool vectors, CUstream_st* stream);

}  // namespace nsa::gate_combine
