// The last step of `masked` backward.
#pragma once

#include "attend_selected/cuda/masked_backward/launch.hpp"
#include "cuda/backward/tile.hpp"

namespace nsa::cuda {

/// Adds up the sums of each tile's items in their order and writes the gradients of K and V.
void sum_masked_keys(const BackwardParams& p, const MaskedItems& items, const BackwardTile& tile,
                     const float* sums, Dtype dtype, CUstream_st* stream);

}  // namespace nsa::cuda
