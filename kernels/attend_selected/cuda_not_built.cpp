#include "attend_selected/cuda_launch.hpp"

namespace nsa::attend_selected {

constinit const LaunchFunction kCudaMasked = nullptr;
constinit const LaunchFunction kCudaMaskedBlocks = nullptr;
constinit const LaunchFunction kCudaRanges = nullptr;
constinit const LaunchFunction kCudaGather = nullptr;
constinit const LaunchFunction kCudaPacked = nullptr;
constinit const LaunchFunction kCudaVarlenV1 = nullptr;
constinit const LaunchFunction kCudaVarlenV2 = nullptr;
constinit const LaunchFunction kCudaFusedQuery = nullptr;
constinit const LaunchFunction kCudaFusedBlock = nullptr;
constinit const LaunchFunction kCudaDensePrefix = nullptr;
constinit const LaunchFunction kCudaKvExpanded = nullptr;

}  // namespace nsa::attend_selected
