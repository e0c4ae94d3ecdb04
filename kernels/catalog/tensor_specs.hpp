// Names and shapes of the tensors that the stages' signatures are made of.
#pragma once

#include "nsa/kernels/catalog.hpp"

namespace nsa {

inline constexpr TensorSpec kX{"x", "[tokens, model_dim]"};
inline constexpr TensorSpec kQ{"q", "[tokens, q_heads, head_dim_k]"};
inline constexpr TensorSpec kO{"o", "[tokens, q_heads, head_dim_v]"};
inline constexpr TensorSpec kOCmp{"o_cmp", kO.shape}, kOSel{"o_sel", kO.shape},
    kOWin{"o_win", kO.shape};
inline constexpr TensorSpec kKCmpRaw{"k_cmp_raw", "[context_tokens, kv_heads, head_dim_k]"};
inline constexpr TensorSpec kKSel{"k_sel", kKCmpRaw.shape}, kKWin{"k_win", kKCmpRaw.shape};
inline constexpr TensorSpec kVCmpRaw{"v_cmp_raw", "[context_tokens, kv_heads, head_dim_v]"};
inline constexpr TensorSpec kVSel{"v_sel", kVCmpRaw.shape}, kVWin{"v_win", kVCmpRaw.shape};
inline constexpr TensorSpec kKCmp{"k_cmp", "[compressed_tokens, kv_heads, head_dim_k]"};
inline constexpr TensorSpec kVCmp{"v_cmp", "[compressed_tokens, kv_heads, head_dim_v]"};
inline constexpr TensorSpec kBlocks{"blocks", "[tokens, kv_heads, sel_count]", true};
inline constexpr TensorSpec kRanges{"ranges", "[tokens, kv_heads, sel_count, 2]", true};
inline constexpr TensorSpec kFc1W{"fc1_w", "[gate_hidden, head_dim_k]"},
    kFc1B{"fc1_b", "[gate_hidden]"};
inline constexpr TensorSpec kFc2W{"fc2_w", "[3, gate_hidden]"}, kFc2B{"fc2_b", "[3]"};
inline constexpr TensorSpec kWQkv{"w_qkv", "[qkv_rows, model_dim]"};
inline constexpr TensorSpec kWO{"w_o", "[model_dim, q_heads * head_dim_v]"};
inline constexpr TensorSpec kLseCmp{"lse_cmp", "[tokens, q_heads]"};
inline constexpr TensorSpec kLseSel{"lse_sel", kLseCmp.shape}, kLseWin{"lse_win", kLseCmp.shape};
inline constexpr TensorSpec kGates{"gates", "[tokens, kv_heads, 3]"};
inline constexpr TensorSpec kY{"y", "[tokens, model_dim]"};
inline constexpr TensorSpec kTokens{"tokens", "[tokens]", true};
inline constexpr TensorSpec kWeights{"weights", "[parameters]"};
inline constexpr TensorSpec kDO{"d_o", kO.shape};

// Of the new tokens only: what goes into the cache.
inline constexpr std::string_view kNewK = "[tokens, kv_heads, head_dim_k]";
inline constexpr std::string_view kNewV = "[tokens, kv_heads, head_dim_v]";

/// Of the stage's backward pass.
Signature backward_signature_of(Stage stage);
/// Of both passes of a composite; empty where it has no such rows.
Signature both_passes_signature_of(Stage stage);

}  // namespace nsa
