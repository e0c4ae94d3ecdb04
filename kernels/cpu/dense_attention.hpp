// Dense causal attention: another answer than NSA's, measured beside it as a baseline.
#pragma once

#include <cstdint>

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// out = softmax(q k^T / sqrt(Dk)) v over all keys up to the query's own position, in tiles, with
/// all threads. q [tokens, q_heads, Dk], k, v [context_tokens, kv_heads, D*],
/// out [tokens, q_heads, Dv]; lse [tokens, q_heads] fp32 may be absent. Of `args` the problem, the
/// sequences and the workspace are used.
void dense_attention(const LaunchArgs& args, const TensorView& q, const TensorView& k,
                     const TensorView& v, const TensorView& out, const TensorView& lse = {});
/// Upper bound of the workspace that it takes.
std::int64_t dense_attention_bytes(const Problem& problem);

}  // namespace nsa::cpu
