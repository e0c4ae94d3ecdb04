// The backward kernels of attention: one function per storage type, each compiled in a file of its
// own. They enqueue, and keep nothing.
#pragma once

#include "cuda/backward/items.hpp"
#include "cuda/backward/key_params.hpp"
#include "cuda/backward/tile.hpp"
#include "cuda/launch/typed_kernels.hpp"

namespace nsa::cuda {

/// Where sums over several chunks of queries are kept between them.
struct KeyTotals {
  float* totals = nullptr;  // [rows of K and V, kv_heads, width]; null where there is one chunk
  bool first = true, last = true;
};

/// The sums of every item, and, where `out` says so, the gradients of q.
void key_gradients_fp32(const BackwardParams&, const BandItems&, const KeyOutputs&, CUstream_st*);
void key_gradients_bf16(const BackwardParams&, const BandItems&, const KeyOutputs&, CUstream_st*);
void key_gradients_fp16(const BackwardParams&, const BandItems&, const KeyOutputs&, CUstream_st*);
void listed_gradients_fp32(const BackwardParams&, const ListedItems&, const KeyOutputs&,
                           CUstream_st*);
void listed_gradients_bf16(const BackwardParams&, const ListedItems&, const KeyOutputs&,
                           CUstream_st*);
void listed_gradients_fp16(const BackwardParams&, const ListedItems&, const KeyOutputs&,
                           CUstream_st*);
inline constexpr TypedKernels<void (*)(const BackwardParams&, const BandItems&, const KeyOutputs&,
                                       CUstream_st*)>
    kBandKeyGradients{key_gradients_fp32, key_gradients_bf16, key_gradients_fp16};
inline constexpr TypedKernels<void (*)(const BackwardParams&, const ListedItems&, const KeyOutputs&,
                                       CUstream_st*)>
    kListedGradients{listed_gradients_fp32, listed_gradients_bf16, listed_gradients_fp16};

/// The gradient of q in attention to a band; of the items, which keys and how wide their tiles are.
void query_gradient_fp32(const BackwardParams&, const BandItems&, CUstream_st*);
void query_gradient_bf16(const BackwardParams&, const BandItems&, CUstream_st*);
void query_gradient_fp16(const BackwardParams&, const BandItems&, CUstream_st*);
inline constexpr TypedKernels<void (*)(const BackwardParams&, const BandItems&, CUstream_st*)>
    kQueryGradient{query_gradient_fp32, query_gradient_bf16, query_gradient_fp16};

/// Adds up the sums of the items in their order and writes the gradients of K and V.
void sum_keys(const BackwardParams& p, const BandItems& items, const BackwardTile& tile,
              const float* sums, Dtype dtype, CUstream_st* stream);
void sum_keys(const BackwardParams& p, const ListedItems& items, const BackwardTile& tile,
              const float* sums, const KeyTotals& totals, Dtype dtype, CUstream_st* stream);

}  // namespace nsa::cuda
