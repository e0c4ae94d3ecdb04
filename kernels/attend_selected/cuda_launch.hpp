// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
// The table alone includes this: a unit that did would have a new hash with every new row, so units
// define theirs as `extern constinit`.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_selected {

extern const LaunchFunction kCudaMasked, kCudaMaskedBlocks, kCudaRanges, kCudaGather, kCudaPacked,
    kCudaVarlenV1, kCudaVarlenV2, kCudaFusedQuery, kCudaFusedBlock, kCudaDensePrefix,
    kCudaKvExpanded;

}  // namespace nsa::attend_selected
