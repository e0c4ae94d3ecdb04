// Two functions per storage type and head dim of K of the fused row, each pair compiled in a file
// of its own: the images of K and V, and one pass over some queries.
#pragma once

#include <cuda_runtime_api.h>

#include "attend_compressed/cuda/fused_score/params.cuh"

namespace nsa::cuda::compressed {

void fused_prepare_bf16_64(const FusedParams& p, cudaStream_t stream);
void fused_prepare_fp16_64(const FusedParams& p, cudaStream_t stream);
void fused_prepare_bf16_128(const FusedParams& p, cudaStream_t stream);
void fused_prepare_fp16_128(const FusedParams& p, cudaStream_t stream);
void fused_prepare_bf16_192(const FusedParams& p, cudaStream_t stream);
void fused_prepare_fp16_192(const FusedParams& p, cudaStream_t stream);

void fused_pass_bf16_64(const FusedParams& p, int multiprocessors, cudaStream_t stream);
void fused_pass_fp16_64(const FusedParams& p, int multiprocessors, cudaStream_t stream);
void fused_pass_bf16_128(const FusedParams& p, int multiprocessors, cudaStream_t stream);
void fused_pass_fp16_128(const FusedParams& p, int multiprocessors, cudaStream_t stream);
void fused_pass_bf16_192(const FusedParams& p, int multiprocessors, cudaStream_t stream);
void fused_pass_fp16_192(const FusedParams& p, int multiprocessors, cudaStream_t stream);

}  // namespace nsa::cuda::compressed
