// Attention of a decode step as one kernel, behind compression: scores, selection, the three
// branches and the gate. Plain C++: what it gets, what it supports.
#pragma once

#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/support.hpp"

namespace nsa::decode {

/// Operands of one step: one new token in each sequence, whose keys are in place already.
struct StepTensors {
  TensorView q;                           // [batch, q_heads, head_dim_k] rotated
  TensorView k_cmp, v_cmp;                // [compressed rows, kv_heads, d]
  TensorView k_sel, v_sel, k_win, v_win;  // [rows, kv_heads, d]
  TensorView fc1_w, fc1_b, fc2_w, fc2_b;  // gate (docs/nsa.md 8)
  TensorView o;                           // out [batch, q_heads, head_dim_v]
  TensorView blocks;                      // out [batch, kv_heads, sel_count] int32; may be absent
};

/// Where the sequences stand, on the device, [batch] each. The window's rows may be elsewhere and
/// fewer (a cache keeps the last ones). Lengths are read from here alone: those of the problem only
/// bound them, so that a graph of the launch is right at every length up to them.
struct StepSequences {
  const Sequence* selected = nullptr;
  const Sequence* window = nullptr;
};

Support supports_step(const Problem& problem, const Device& device) noexcept;
/// Enqueues the step. All three branches are on.
void attend_step(const Problem& problem, const StepTensors& tensors, const StepSequences& sequences,
                 const Constants& constants, CUstream_st* stream);

/// What a cache holds for the branches, and where the rows of a new token go.
struct AppendTensors {
  TensorView k_cmp_raw, v_cmp_raw, k_sel, v_sel, k_win, v_win;  // [batch, kv_heads, d] the new rows
  TensorView all_k_sel, all_v_sel;                              // [batch * capacity, kv_heads, d]
  TensorView all_k_win, all_v_win;  // [batch * window rows, kv_heads, d]
  TensorView k_raw, v_raw;          // [batch * cmp_block, kv_heads, d] not yet pooled
  TensorView k_cmp, v_cmp;          // [compressed rows, kv_heads, d]
};

/// How many tokens a sequence holds, on the device, between two steps.
struct Standing {
  std::int64_t length = 0, in_window = 0;
};
/// Rows of a cache per sequence.
struct CacheRows {
  std::int64_t capacity = 0, window = 0, compressed = 0;
};

/// Moves every sequence one token on: standing [batch] is raised by one, `selected` and `window`
/// [batch] say where the stages find the keys once the new ones are in place. In `window`,
/// cmp_begin is the number of rows by which those that stay move to the front first. A sequence
/// that is full stays where it is, and its last token is overwritten.
void advance(const Problem& problem, const CacheRows& rows, Standing* standing, Sequence* selected,
             Sequence* window, CUstream_st* stream);
/// Puts the new rows in place and pools a block that they complete (docs/nsa.md 9).
void append_step(const Problem& problem, const AppendTensors& tensors,
                 const StepSequences& sequences, CUstream_st* stream);

}  // namespace nsa::decode
