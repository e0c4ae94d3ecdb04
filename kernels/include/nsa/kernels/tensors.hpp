// Tensors that belong together, by name. Plain values, shared as views are (tensor.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nsa/kernels/tensor.hpp"

namespace nsa {

/// The branches of NSA, in the order of the gate's weights.
enum class Branch : std::uint8_t { cmp, sel, win };
inline constexpr std::array kBranchOrder{Branch::cmp, Branch::sel, Branch::win};
/// Its place in an array of three.
constexpr std::size_t index_of(Branch branch) noexcept { return static_cast<std::size_t>(branch); }
/// Its bit in a set of branches.
constexpr unsigned bit_of(Branch branch) noexcept { return 1u << index_of(branch); }
inline constexpr unsigned kAllBranches =
    bit_of(Branch::cmp) | bit_of(Branch::sel) | bit_of(Branch::win);

/// Keys and values of a branch.
struct KvTensors {
  TensorView k;  // [rows, kv_heads, head_dim_k]
  TensorView v;  // [rows, kv_heads, head_dim_v]
};

/// The gate's two layers (docs/nsa.md 8).
struct GateWeights {
  TensorView fc1_w, fc1_b;  // [hidden, head_dim_k], [hidden]
  TensorView fc2_w, fc2_b;  // [3, hidden], [3]
};

/// Tensors of one attention call over packed sequences (launch.hpp, Sequence).
struct AttentionTensors {
  TensorView q;        // [tokens, q_heads, head_dim_k] rotated
  KvTensors cmp;       // [context_tokens, kv_heads, d] K rotated, not pooled
  KvTensors sel, win;  // [context_tokens, kv_heads, d] K rotated
  GateWeights gate;
  TensorView o;       // out [tokens, q_heads, head_dim_v]
  TensorView blocks;  // out [tokens, kv_heads, sel_count] int32; may be absent
};

}  // namespace nsa
