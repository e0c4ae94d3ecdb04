// `masked` backward: one function per storage type and pass, each storage type compiled in a file
// of its own. They enqueue, and keep nothing.
#pragma once

#include "cuda/backward/items.hpp"
#include "cuda/backward/key_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Every tile of keys, each a part of one block, with `segments` items of `segment` queries at
/// most.
struct MaskedItems {
  int tile_keys = 64, tiles_of_block = 1, tiles_of_sequence = 0;
  int segment = 0, segments = 0;
  std::int64_t batch = 0;

  constexpr int slots() const noexcept { return static_cast<int>(batch) * tiles_of_sequence; }
  std::int64_t blocks(int kv_heads) const noexcept {
    return std::int64_t{slots()} * segments * kv_heads;
  }
};

void masked_keys_fp32(const BackwardParams&, const MaskedItems&, float* sums, CUstream_st*);
void masked_keys_bf16(const BackwardParams&, const MaskedItems&, float* sums, CUstream_st*);
void masked_keys_fp16(const BackwardParams&, const MaskedItems&, float* sums, CUstream_st*);
void masked_queries_fp32(const BackwardParams&, CUstream_st*);
void masked_queries_bf16(const BackwardParams&, CUstream_st*);
void masked_queries_fp16(const BackwardParams&, CUstream_st*);

}  // namespace nsa::cuda
