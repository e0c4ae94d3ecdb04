// What a layer keeps of its forward pass for its backward pass.
#pragma once

#include <array>

#include "nsa/kernels/training.hpp"
#include "runtime/stage.hpp"

namespace nsa::training {

/// Views into the arena. Norms, SiLU and ranges are computed again: they cost less than their
/// memory. Raw compressed rows are not kept, their pooled ones are.
struct LayerSaved {
  TensorView q;                        // [tokens, q_heads, head_dim_k] rotated
  KvTensors cmp;                       // [compressed_tokens, kv_heads, d]; absent: dense
  KvTensors sel, win;                  // [tokens, kv_heads, d]; win absent: dense
  TensorView blocks;                   // [tokens, kv_heads, sel_count] int32; absent: dense
  std::array<TensorView, 3> branches;  // [tokens, q_heads, head_dim_v]; absent: dense
  TensorView o;                        // [tokens, q_heads, head_dim_v]
  TensorView x1;                       // [tokens, model_dim] after attention
  TensorView hidden;                   // [tokens, mlp_ratio * model_dim] before SiLU
  Saved stages;                        // log-sum-exps and gates
};

/// Takes what attention writes between its inputs and `o`, but for the blocks.
void take_between(Workspace& workspace, const ModelConfig& config, const Problem& problem,
                  LayerSaved& saved);
/// Takes what lies between a layer's projections, but for the blocks.
void take_attention(Workspace& workspace, const ModelConfig& config, const Problem& problem,
                    LayerSaved& saved);
/// Takes all of them.
LayerSaved take_saved(Workspace& workspace, const ModelConfig& config, const Problem& problem);
/// Rows of the compressed tensors of all sequences.
std::int64_t compressed_rows(const Problem& problem);

}  // namespace nsa::training
