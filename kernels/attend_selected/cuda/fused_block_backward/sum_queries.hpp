// From partial gradients of q, or from their sums, to the gradient of q.
#pragma once

#include "cuda/backward/key_params.hpp"
#include "cuda/backward/tile.hpp"

namespace nsa::cuda {

/// Adds up the partial gradients of each query of the chunk in the order of its picks.
void sum_queries(const BackwardParams& p, const KeyOutputs& out, const BackwardTile& tile,
                 const unsigned char* picked, int queries, Dtype dtype, CUstream_st* stream);
/// Writes what atomic operations added up.
void put_queries(const BackwardParams& p, const KeyOutputs& out, const BackwardTile& tile,
                 Dtype dtype, CUstream_st* stream);

}  // namespace nsa::cuda
