// `dense_prefix` on a GPU: dense causal attention for the queries that selected everything before
// them, `fused_query` for the others.
#pragma once

#include "cuda/flash/attend_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Splits each sequence where its first query stands that left out a block: `dense` [batch] gets
/// the queries before it, `sparse` [batch] those from it on. What the blocks say counts, not that
/// n l' covers them.
void split_sequences(const AttendParams& p, Sequence* dense, Sequence* sparse, CUstream_st* stream);

/// Dense causal attention of the sequences in `p`.
void dense_causal_fp32(const AttendParams& p, CUstream_st* stream);
void dense_causal_bf16(const AttendParams& p, CUstream_st* stream);
void dense_causal_fp16(const AttendParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
