#include "attend_selected/cuda_launch.hpp"

namespace nsa::attend_selected {

constinit const LaunchFunction kCudaMasked = nullptr;
constinit const LaunchFunction kCudaRanges = nullptr;
constinit const LaunchFunction kCudaGather = nullptr;
constinit const LaunchFunction kCudaFusedQuery = nullptr;

}  // namespace nsa::attend_selected
