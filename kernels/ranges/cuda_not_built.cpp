#include "ranges/cuda_launch.hpp"

namespace nsa::ranges {

constinit const LaunchFunction kCudaRangesV1 = nullptr;
constinit const LaunchFunction kCudaRangesV2 = nullptr;
constinit const LaunchFunction kCudaGpuMerge = nullptr;

}  // namespace nsa::ranges
