// FlashInfer's FlashAttention-2 kernels, compiled for a few head dims. Its headers are fetched by
// scripts/install_deps; a build without them has no such rows.
#pragma once

#include <cstdint>

#include "cuda/flash/attend_params.hpp"
#include "vendor/branch.hpp"
#include "vendor/flashinfer/shape.hpp"

struct CUstream_st;

namespace nsa::vendor {

/// One launch per sequence, or one for a ragged batch.
enum class Form : std::uint8_t { dense, varlen };

/// What the ragged kernel reads beside the tensors; made on the device.
struct TileLists {
  std::int32_t* request = nullptr;      // [tiles] sequence of a tile
  std::int32_t* tile = nullptr;         // [tiles] which of its tiles
  std::int32_t* key_tile = nullptr;     // [tiles] zeros: keys are not split
  bool* valid = nullptr;                // [tiles] false: the tile is empty
  std::int32_t* first_query = nullptr;  // [batch] row of q and o
  std::int32_t* first_key = nullptr;    // [batch] row of k and v
  std::int32_t* chunk = nullptr;        // [1] keys of a chunk: more than there are
  std::uint32_t tiles = 0;
};

/// All rows start at multiples of 16 bytes; o is contiguous.
struct FlashInferCall {
  cuda::AttendParams params;  // strides under 2^32; lse is contiguous [tokens, q_heads], base 2
  Sequence sequence;          // Form::dense
  TileLists lists;            // Form::varlen
};

std::uint32_t tiles_of(const cuda::AttendParams& p);
void make_tile_lists(const cuda::AttendParams& p, Band band, const TileLists& lists,
                     CUstream_st* stream);
/// lse in base 2, -5e4 or so where a row is empty -> natural logarithm at p.lse, -inf there.
void convert_lse(const float* lse2, const cuda::AttendParams& p, CUstream_st* stream);

using FlashInferKernel = void (*)(const FlashInferCall&, Band, Form, CUstream_st*);
void flashinfer_bf16_64(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);
void flashinfer_bf16_128(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);
void flashinfer_bf16_192(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);
void flashinfer_fp16_64(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);
void flashinfer_fp16_128(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);
void flashinfer_fp16_192(const FlashInferCall& call, Band band, Form form, CUstream_st* stream);

}  // namespace nsa::vendor
