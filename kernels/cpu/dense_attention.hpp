// Dense causal attention: another answer than NSA's, measured beside it as a baseline.
#pragma once

#include <cstdint>

#include "operands/attend.hpp"

namespace nsa::cpu {

/// o = softmax(q k^T / sqrt(Dk)) v over all keys up to the query's own position, in tiles, with all
/// threads. Keys and values [context_tokens, kv_heads, d]. Of `args` the problem, the sequences and
/// the workspace are used.
void dense_attention(const LaunchArgs& args, const BandTensors& tensors);
/// Upper bound of the workspace that it takes.
std::int64_t dense_attention_bytes(const Problem& problem);

}  // namespace nsa::cpu
