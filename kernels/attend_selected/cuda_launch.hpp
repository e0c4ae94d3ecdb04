// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_selected {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaMasked, kCudaMaskedBlocks, kCudaRanges, kCudaGather, kCudaPacked,
    kCudaVarlenV1, kCudaVarlenV2, kCudaFusedQuery, kCudaFusedBlock, kCudaDensePrefix,
    kCudaKvExpanded;

}  // namespace nsa::attend_selected
